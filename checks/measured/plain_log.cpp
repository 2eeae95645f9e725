#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <regex>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/log_text.hpp"
#include "checks/measured/measured_results.hpp"

namespace stepcast {

namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array kUnits{
    Unit{"s", 1},         Unit{"sec", 1},   Unit{"secs", 1},    Unit{"second", 1},
    Unit{"seconds", 1},   Unit{"ms", 1e-3}, Unit{"msec", 1e-3}, Unit{"msecs", 1e-3},
    Unit{"millis", 1e-3}, Unit{"us", 1e-6}, Unit{"usec", 1e-6}, Unit{"millisecond", 1e-3},
    Unit{"min", 60},      Unit{"mins", 60}, Unit{"minute", 60}, Unit{"milliseconds", 1e-3},
    Unit{"minutes", 60},  Unit{"h", 3600},  Unit{"hour", 3600}, Unit{"hours", 3600},
    Unit{"µs", 1e-6},     Unit{"μs", 1e-6},
};

std::optional<double> seconds_of(std::string_view unit) {
  for (const Unit& known : kUnits)
    if (known.name == unit) return known.seconds;
  return std::nullopt;
}

/// Steps of these are no training.
bool is_of_other_steps(std::string_view before) {
  constexpr std::array<std::string_view, 8> kOthers{"eval",     "evaluation", "val",  "valid",
                                                    "validate", "validation", "test", "data"};
  before = trimmed(before);
  for (const std::string_view other : kOthers) {
    if (!before.ends_with(other)) continue;
    const std::string_view rest = before.substr(0, before.size() - other.size());
    if (rest.empty() || std::isalnum(static_cast<unsigned char>(rest.back())) == 0) return true;
  }
  return false;
}

/// "1,234.5": separators of thousands, nothing else.
bool separates_thousands(std::string_view text) {
  static const std::regex kThousands(R"([1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)");
  return std::regex_match(text.begin(), text.end(), kThousands);
}

std::optional<double> number_of(std::string text) {
  if (text.ends_with(',')) text.pop_back();
  if (text.find(',') != std::string::npos) {
    if (!separates_thousands(text)) return std::nullopt;
    std::erase(text, ',');
  }
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// What stands behind a number belongs to it: a clock's minutes, a ratio, a rate, a version.
bool goes_on(std::string_view after) {
  if (after.empty()) return false;
  const auto c = static_cast<unsigned char>(after.front());
  if (std::isalnum(c) != 0 || c == '_' || c == '%' || c == '/' || c >= 0x80) return true;
  const bool joins = c == '.' || c == ':' || c == ',' || c == '-';
  return joins && after.size() > 1 && std::isdigit(static_cast<unsigned char>(after[1])) != 0;
}

/// Seconds of a unit that stands behind a number, which `after` loses; `otherwise` where none does. Nothing where what
/// stands there is another.
std::optional<double> unit_behind(std::string_view after, std::optional<double> otherwise) {
  const std::string_view rest = after.substr(std::min(after.find_first_not_of(' '), after.size()));
  // Letters, of Greek, too.
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
  };
  std::size_t length = 0;
  while (length < rest.size() && is_letter(rest[length])) ++length;
  if (const auto unit = seconds_of(rest.substr(0, length))) {
    if (goes_on(rest.substr(length)) || (otherwise && *otherwise != *unit)) return std::nullopt;
    return unit;
  }
  // "30 m" may be anything; another word behind a space is the next name.
  if (goes_on(after) || rest.substr(0, length) == "m") return std::nullopt;
  return otherwise ? otherwise : 1;
}

/// A step's time by name.
std::optional<double> named_time(const std::string& line) {
  static const std::regex kNamed(
      R"((^|[^\w./-])(?:train(?:ing)?[_ ])?(?:(?:step|iteration|iter)[_ ]time|train_step_timing in)(?:[_ ]?[(\[]?([A-Za-z]+)[)\]]?)?\s*[:=]\s*([0-9][0-9,]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?))");
  for (std::sregex_iterator found(line.begin(), line.end(), kNamed), end; found != end; ++found) {
    if (is_of_other_steps(std::string_view(line).substr(0, static_cast<std::size_t>(found->position(1))))) continue;
    std::optional<double> unit;
    if ((*found)[2].matched) {
      unit = seconds_of((*found)[2].str());
      if (!unit) continue;
    }
    const std::optional<double> number = number_of((*found)[3].str());
    const std::string_view after =
        std::string_view(line).substr(static_cast<std::size_t>(found->position(3) + found->length(3)));
    unit = unit_behind(after, unit);
    if (number && unit) return *number * *unit;
  }
  return std::nullopt;
}

/// "30.83s/it", as tqdm writes it.
std::optional<double> time_of_bar(const std::string& line) {
  static const std::regex kBar(R"((?:^|[^\w.,-])([0-9]+\.?[0-9]*)\s*s/it(?!\w))");
  std::smatch found;
  if (!std::regex_search(line, found, kBar)) return std::nullopt;
  return number_of(found[1].str());
}

}  // namespace

NamedSeries read_plain_log(std::string_view text) {
  // Lines of a log are short; what is longer is a dump of something.
  constexpr std::size_t kLongestLine = 4096;
  NamedSeries out;
  for (const std::string_view raw : lines_of(text)) {
    if (raw.size() > kLongestLine) continue;
    const std::string line = without_colours(raw);
    std::optional<double> time = named_time(line);
    if (!time) time = time_of_bar(line);
    if (time) add_sample(out, "step_time_s", *time);
  }
  return out;
}

}  // namespace stepcast
