#include "cli/number_option.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

namespace {

/// All of a text as a number of a type; nothing where it is none, or beyond what the type holds.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CLI::Validator accepting(std::function<bool(const std::string&)> fits, std::string expected) {
  return CLI::Validator(
      [fits = std::move(fits), expected = std::move(expected)](const std::string& text) {
        return fits(text) ? std::string() : fmt::format("found \"{}\", expected {}", text, expected);
      },
      "");
}

}  // namespace

CLI::Validator whole_number(long least, long most) {
  return accepting(
      [least, most](const std::string& text) {
        const auto value = number_of<long>(text);
        return value && *value >= least && *value <= most;
      },
      fmt::format("a whole number from {} to {}", least, most));
}

CLI::Validator number_between(double least, double most) {
  return accepting(
      [least, most](const std::string& text) {
        const auto value = number_of<double>(text);
        return value && *value >= least && *value <= most;
      },
      fmt::format("a number from {} to {}", least, most));
}

CLI::Validator number_above_zero() {
  return accepting(
      [](const std::string& text) {
        const auto value = number_of<double>(text);
        return value && std::isfinite(*value) && *value > 0;
      },
      "a number above 0");
}

}  // namespace stepcast
