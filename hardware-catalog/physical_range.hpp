#pragma once

#include <string_view>

namespace stepcast {

/// What a figure other than 0 can be at all, in the unit that its key names: bounds so far beyond any part that only a
/// slip of the keyboard meets them, and within which no forecast overflows.
struct PhysicalRange {
  double least, most;
};

PhysicalRange physical_range(std::string_view key);

}  // namespace stepcast
