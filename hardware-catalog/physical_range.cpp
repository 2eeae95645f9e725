#include "hardware-catalog/physical_range.hpp"

#include <algorithm>
#include <optional>

#include "fields/field_table.hpp"
#include "fields/rounded.hpp"

namespace stepcast {

namespace {

struct RangeOfDimension {
  std::array<int, 5> dimension;  ///< exponents of time, data, work, energy and money
  double least, most;            ///< in s, byte, FLOP, J and dollars
};

// Estimated: three orders of magnitude and more on either side of what the catalogue has.
constexpr std::array kRanges{
    RangeOfDimension{{1, 0, 0, 0, 0}, 1e-15, 1e5},  // less than light takes over a micrometre; more than a day
    RangeOfDimension{{0, 1, 0, 0, 0}, 1, 1e21},     // a byte; more than all stores of a hyperscaler
    RangeOfDimension{{-1, 1, 0, 0, 0}, 1e3, 1e18},  // slower than a modem; faster than the SRAM of whole wafers
    RangeOfDimension{{-1, 0, 1, 0, 0}, 1e6, 1e21},  // slower than a 1980s FPU; a thousand exaflops of one device
    RangeOfDimension{{-1, 0, 0, 0, 0}, 1, 1e13},    // a drive's accesses; no transistor switches faster
    RangeOfDimension{{-1, 0, 0, 1, 0}, 1e-3, 1e7},  // a drive asleep; more than a rack can be fed
    RangeOfDimension{{0, 0, 0, 0, 1}, 1e-2, 1e12},  // a cent
    RangeOfDimension{{-1, 0, 0, 0, 1}, 1e-9, 1e5},  // three cents a year
    RangeOfDimension{{0, 0, 0, -1, 1}, 1e-6 / 3.6e6, 1e3 / 3.6e6},  // of a kWh: a millionth of a dollar; a thousand
};
/// Shares, factors and counts.
constexpr PhysicalRange kPureNumber{1e-9, 1e9};

std::optional<detail::UnitOfKey> unit_in(std::string_view key) {
  try {
    return detail::unit_of_key(key);
  } catch (const std::logic_error&) {
    return std::nullopt;
  }
}

}  // namespace

PhysicalRange physical_range(std::string_view key) {
  const auto unit = unit_in(key);
  if (!unit) return kPureNumber;
  const auto found = std::find_if(kRanges.begin(), kRanges.end(),
                                  [&](const RangeOfDimension& range) { return range.dimension == unit->dimension; });
  if (found == kRanges.end()) return kPureNumber;
  constexpr int kDigits = 3;
  return {rounded(found->least / unit->scale, kDigits), rounded(found->most / unit->scale, kDigits)};
}

}  // namespace stepcast
