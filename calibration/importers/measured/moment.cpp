#include "calibration/importers/measured/moment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

// Seconds of the year 5138 and milliseconds of 1973: a larger number is in milliseconds.
constexpr double kLeastMilliseconds = 1e11, kMostMilliseconds = 1e14;

/// Seconds that a clock with `+02:00` (or `-0500`) behind its time is ahead of UTC.
double offset_of(const std::string& word) {
  const std::size_t sign = word.find_first_of("+-", std::min(word.find(':'), word.size()));
  int hours = 0, minutes = 0;
  if (sign == std::string::npos || std::sscanf(word.c_str() + sign + 1, "%2d:%2d", &hours, &minutes) < 1) return 0;
  if (minutes == 0) std::sscanf(word.c_str() + sign + 1, "%2d%2d", &hours, &minutes);
  return (word[sign] == '-' ? -1.0 : 1.0) * (hours * 3600 + minutes * 60);
}

}  // namespace

std::optional<double> moment_of(std::string_view text) {
  const std::string word(trimmed(text));
  int year = 0;
  unsigned month = 0, day = 0;
  int hour = 0, minute = 0;
  double second = 0;
  char a = 0, b = 0, c = 0;
  if (std::sscanf(word.c_str(), "%4d%c%2u%c%2u%c%2d:%2d:%lf", &year, &a, &month, &b, &day, &c, &hour, &minute,
                  &second) == 9 &&
      year >= 1970 && year < 3000) {
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
    if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || !(second >= 0 && second < 61))
      return std::nullopt;
    const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
    return days * 86400 + hour * 3600 + minute * 60 + second - offset_of(word);
  }
  const auto number = number_of(word);
  if (!number || *number < 0 || *number > kMostMilliseconds) return std::nullopt;
  return *number < kLeastMilliseconds ? *number : *number / 1000;
}

std::optional<double> calendar_moment_of(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::string words(trimmed(text));
  char name[4] = {};
  int day = 0, year = 0;
  char clock[16] = {};
  if (std::sscanf(words.c_str(), "%*3s %3s %2d %15s %4d", name, &day, clock, &year) != 4) return std::nullopt;
  const auto month = kMonths.find(name);
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  return moment_of(fmt::format("{:04}-{:02}-{:02}T{}", year, month / 3 + 1, day, clock));
}

std::string stamp_of(double seconds) {
  const auto whole = static_cast<long>(std::floor(seconds));
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(whole / 86400))};
  const long rest = whole % 86400;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600,
                     rest / 60 % 60, rest % 60);
}

}  // namespace stepcast
