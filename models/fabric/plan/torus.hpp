#pragma once

#include <array>
#include <vector>

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
  int wrap_multiple = 1;                  ///< an axis wraps around where its length is a multiple of it
  BytesPerSecond link;                    ///< rate of one link and direction

  /// NICs along an axis.
  [[nodiscard]] int size(int axis) const {
    return block[static_cast<std::size_t>(axis)] * grid[static_cast<std::size_t>(axis)];
  }
  /// Whether the last NIC along an axis has no link to the first one.
  [[nodiscard]] bool open(int axis) const { return size(axis) % wrap_multiple != 0; }
  [[nodiscard]] std::vector<int> open_axes() const;  ///< lengths of those, without axes of one NIC
  /// Links of the NIC that has fewest, one at a corner.
  [[nodiscard]] int fewest_links() const;
  [[nodiscard]] std::array<int, kMost> coordinates(int node, int nic) const;
  /// Node and NIC at coordinates.
  [[nodiscard]] std::array<int, 2> at(const std::array<int, kMost>& coordinates) const;
};

/// Grid as even as the node count's factors allow, or that of `dimensions` (which check_fabric has found to fit).
TorusPlan torus_plan(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate);
FabricLevels torus_levels(const TorusPlan& plan);

/// A node's accelerators as a torus of their own, in which each is a router; its topology must be one.
TorusPlan node_torus(const Node& node, const Accelerator* accelerator);
/// The preset of nodes for which nobody states one: a torus of those whose NICs are their chips' own links (ici).
FabricPreset usual_preset(const Node& node, std::optional<NetworkKind> network);
/// What a fabric leaves open of its wraps is the accelerator's.
void take_wraps(FabricSpec& spec, const Accelerator* accelerator);
/// Whether the devices of a node are the routers of such a fabric, so that links inside and between nodes are the same.
bool devices_are_routers(const FabricSpec& spec, const Node& node, int nics);

}  // namespace stepcast
