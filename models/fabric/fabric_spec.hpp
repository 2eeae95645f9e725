#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "hardware-catalog/parts.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// How nodes are joined. `custom`: by the listed switches and cables.
enum class FabricPreset {
  single_switch,
  fat_tree,
  fat_tree_3,
  rail_optimized,
  rail_only,
  dragonfly,
  dragonfly_plus,
  torus_2d,
  torus_3d,
  custom
};
template <>
struct EnumNames<FabricPreset> {
  static constexpr std::array names{"single-switch", "fat-tree",       "fat-tree-3", "rail-optimized", "rail-only",
                                    "dragonfly",     "dragonfly-plus", "torus-2d",   "torus-3d",       "custom"};
};

/// How a flow chooses among equal paths. `adaptive`: traffic spreads evenly; `ecmp`: each flow takes one path by a hash
/// of its ends, so flows collide.
enum class FabricRouting { adaptive, ecmp };
template <>
struct EnumNames<FabricRouting> {
  static constexpr std::array names{"adaptive", "ecmp"};
};

/// Which nodes of the fabric the ranks take. `packed`: neighbours fill a leaf before the next; `scattered`: dealt out
/// over the leaves in turn. `node_order` replaces it.
enum class FabricPlacement { packed, scattered };
template <>
struct EnumNames<FabricPlacement> {
  static constexpr std::array names{"packed", "scattered"};
};

/// A switch of a custom fabric.
struct FabricSwitchSpec {
  std::string name;
  static const FieldTable<FabricSwitchSpec>& fields();
};

/// Equal cables of a custom fabric between two ends: `node3` (all its NICs), `node3:nic1`, or a switch's name.
struct FabricCableSpec {
  std::string from, to;
  BytesPerSecond bandwidth;  ///< bandwidth_Gbps, of each cable and direction
  int count = 1;
  std::optional<Seconds> latency;  ///< latency_us
  static const FieldTable<FabricCableSpec>& fields();
};

/// Sites joined by a wide-area network; nodes are dealt to the sites in equal runs.
struct FabricSitesSpec {
  int sites = 2;
  BytesPerSecond bandwidth;  ///< bandwidth_Gbps, of each site's up-link and direction
  Seconds latency;           ///< latency_ms, one way between two sites
  static const FieldTable<FabricSitesSpec>& fields();
};

struct FabricSpec {
  FabricPreset preset = FabricPreset::fat_tree;
  double oversubscription = 1;  ///< leaf down-link over up-link capacity, ≥ 1; dragonfly: nodes' over global rate
  double core_oversubscription = 1;             ///< spine down-link over up-link capacity, where there are cores
  std::optional<int> nics_per_node;             ///< replaces the node's training NICs
  std::optional<BytesPerSecond> nic_bandwidth;  ///< nic_bandwidth_Gbps, of each
  std::optional<NetworkKind> network;           ///< replaces the NIC's kind
  std::string switch_id;                        ///< "switch": catalogue id; empty: ports enough for the NIC's rate
  std::optional<int> nodes_per_leaf;            ///< replaces what the switch's ports allow
  std::optional<int> nodes_per_pod;             ///< nodes below one set of spines, where there are cores
  std::vector<int> dimensions;                  ///< torus only: NICs along each dimension; empty: as even as they come
  bool pxn = true;  ///< rails: traffic to another rail first goes to the device of that rail (NCCL's PXN)
  FabricRouting routing = FabricRouting::adaptive;
  FabricPlacement placement = FabricPlacement::packed;
  int wrap_multiple = 0;  ///< torus: an axis wraps around where its length is a multiple of it; 0: as the chips' links
  std::vector<int> node_order;             ///< node of the fabric for each node of ranks; empty: as `placement` says
  std::vector<FabricSwitchSpec> switches;  ///< custom only
  std::vector<FabricCableSpec> cables;     ///< custom only
  std::optional<FabricSitesSpec> wan;
  static const FieldTable<FabricSpec>& fields();
};

}  // namespace stepcast
