#include "models/storage/decimal_bytes.hpp"

#include <fmt/format.h>

#include <array>

namespace stepcast {

std::string decimal_text(Bytes size) {
  constexpr std::array kUnits{"kB", "MB", "GB", "TB", "PB"};
  // What rounds to 1,000 of a unit is one of the next.
  constexpr double kNext = 999.5;
  double value = size.value() / 1e3;
  std::size_t unit = 0;
  for (; value >= kNext && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return value < kNext ? fmt::format("{:.3g} {}", value, kUnits[unit]) : fmt::format("{:.0f} {}", value, kUnits[unit]);
}

std::string decimal_text(BytesPerSecond rate) { return decimal_text(rate * Seconds(1)) + "/s"; }

}  // namespace stepcast
