#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/importers/chakra/chakra_file.hpp"

namespace stepcast {

std::optional<std::int64_t> ChakraAttribute::integer() const {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    if (*number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;
}

std::optional<double> ChakraAttribute::number() const {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<bool> ChakraAttribute::boolean() const {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto whole = integer()) return *whole != 0;
  return std::nullopt;
}

std::optional<std::string> ChakraAttribute::text() const {
  if (const auto* words = std::get_if<std::string>(&value)) return *words;
  if (const auto whole = integer()) return fmt::format("{}", *whole);
  return std::nullopt;
}

const ChakraAttribute* find_attribute(const std::vector<ChakraAttribute>& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const ChakraAttribute& attribute) { return attribute.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace stepcast
