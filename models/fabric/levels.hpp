#pragma once

#include <boost/container/static_vector.hpp>
#include <cstddef>

#include "hardware-catalog/parts.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Levels above the node that a network can have: three axes of a torus and its halves, and sites.
inline constexpr std::size_t kFabricLevels = 5;

/// One tier of a network: nodes fall into groups of `nodes`, the last one possibly smaller. What a group sends to the
/// others passes links of total rate `up`.
struct FabricLevel {
  int nodes = 1;      ///< of a full group
  BytesPerSecond up;  ///< of a full group, per direction
  int links = 1;      ///< equal ones that `up` is spread over
  Seconds hop;        ///< one way, added to what a message inside the group takes
};

/// A network seen from its nodes, innermost tier first; empty when one switch (or, with PXN, one for each rail)
/// joins all.
struct FabricLevels {
  bool rails_apart = false;  ///< NICs of different number have different leaves; traffic between equal ones stays below
  BytesPerSecond message;  ///< most of one message, where a NIC spreads over links of which it takes one; 0: the NIC's
  boost::container::static_vector<FabricLevel, kFabricLevels> levels;
  /// Nodes of an innermost group of several, on which placements work; 1 where there is none.
  [[nodiscard]] int together() const {
    for (const FabricLevel& level : levels)
      if (level.nodes > 1) return level.nodes;
    return 1;
  }
};

/// The tiers of a network that build_fabric builds from the same arguments; arithmetic alone, allocates nothing (a
/// custom fabric is searched instead). `nics_per_node` and `nic_bandwidth` are those in use, after the spec's own.
/// `part`: the switch in use (network_switch); null stands for kPlainSwitch. Says nothing about legality: check_fabric
/// does. Formulas and sources: docs/models/fabric.md.
FabricLevels fabric_levels(const FabricSpec& spec, int nodes, int nics_per_node, BytesPerSecond nic_bandwidth,
                           const SwitchPart* part);

}  // namespace stepcast
