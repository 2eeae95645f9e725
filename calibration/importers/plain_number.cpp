#include "calibration/importers/plain_number.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace stepcast {

std::optional<Json> plain_number(std::string word) {
  std::erase(word, '_');
  if (word.starts_with('+')) word.erase(0, 1);
  const char* const end = word.data() + word.size();
  std::int64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(word.data(), end, whole); error == std::errc() && stop == end)
    return whole;
  double number = 0;
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && stop == end && std::isfinite(number)) return number;
  return std::nullopt;
}

}  // namespace stepcast
