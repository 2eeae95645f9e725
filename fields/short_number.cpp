#include "fields/short_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {

std::string with_separators(const std::string& digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace

std::string significant(double number) {
  if (number < 0) return "-" + significant(-number);
  if (number == 0) return "0";
  if (number < 0.9995) {
    const int decimals = std::min(9, 2 - static_cast<int>(std::floor(std::log10(number))));
    return fmt::format("{:.{}f}", number, decimals);
  }
  if (number < 9.995) return fmt::format("{:.2f}", number);
  if (number < 99.95) return fmt::format("{:.1f}", number);
  return with_separators(fmt::format("{:.0f}", number));
}

std::string whole(long number) {
  return number < 0 ? "-" + whole(-number) : with_separators(fmt::format("{}", number));
}

std::string humane(Dollars money) {
  if (money.value() >= 1e6) return fmt::format("${} M", significant(money.value() / 1e6));
  constexpr double kCent = 0.01;
  if (money.value() > 0 && money.value() < kCent) return "$" + significant(money.value());
  if (money.value() > 0 && money.value() < 100)
    return fmt::format("${:.{}f}", money.value(), money.value() < 0.1 ? 4 : 2);
  return fmt::format("${}", significant(money.value()));
}

std::string price_text(Dollars price) {
  const double dollars = price.value();
  if (dollars < 1) return fmt::format("${:.3g}", dollars);
  const double rounded = std::round(dollars);
  if (dollars >= 1000 || std::abs(dollars - rounded) < 0.005) return "$" + whole(std::lround(dollars));
  return fmt::format("${:.2f}", dollars);
}

}  // namespace stepcast
