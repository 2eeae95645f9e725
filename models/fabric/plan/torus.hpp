#pragma once

#include <array>

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/levels.hpp"

namespace stepcast {

/// One hop of a TPU pod's inter-chip interconnect (links ici-hop).
inline constexpr Seconds kTorusHop{0.5e-6};

/// A torus in numbers. Every NIC is a router with two links in each dimension, which share its rate equally (a TPU chip
/// is listed as one NIC of all its links). A node is a block of them, as even as it comes: four are 2×2(×1), eight 2×4
/// or 2×2×2, as in TPU hosts. Coordinates run through a block first, then through the grid of blocks, x fastest.
struct TorusPlan {
  static constexpr int kMost = 3;
  int nodes = 0, nics = 0;
  int axes = 2;
  std::array<int, kMost> block{1, 1, 1};  ///< NICs of a node along each axis
  std::array<int, kMost> grid{1, 1, 1};   ///< nodes along each axis
  BytesPerSecond link;                    ///< rate of one link and direction

  /// NICs along an axis.
  [[nodiscard]] int size(int axis) const {
    return block[static_cast<std::size_t>(axis)] * grid[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::array<int, kMost> coordinates(int node, int nic) const;
  /// Node and NIC at coordinates.
  [[nodiscard]] std::array<int, 2> at(const std::array<int, kMost>& coordinates) const;
};

/// Grid as even as the node count's factors allow, or that of `dimensions` (which check_fabric has found to fit).
TorusPlan torus_plan(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate);
FabricLevels torus_levels(const TorusPlan& plan);

}  // namespace stepcast
