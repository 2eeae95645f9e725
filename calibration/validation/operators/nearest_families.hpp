#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// Families of accelerators whose measured operators stand for a family's, the nearest first: those of the same
/// generation of multiprocessors, then of the next ones, never across makers. Empty for a family that has none.
std::vector<std::string> nearest_families(std::string_view family);

/// Whether two families are of the same multiprocessors and kind of memory, on other boards.
bool same_generation(std::string_view one, std::string_view other);

}  // namespace stepcast
