#pragma once

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/levels.hpp"
#include "models/fabric/plan/switch_figures.hpp"

namespace stepcast {

/// A dragonfly in numbers: groups of routers, every two groups joined by the same number of global cables.
///
/// dragonfly: the routers of a group are joined each to each; of k ports, balanced, p = ⌊(k+1)/4⌋ go to NICs, a − 1 to
/// the 2p − 1 other routers and h = p to other groups (Kim et al. 2008, "Technology-Driven, Highly-Scalable Dragonfly
/// Topology"). dragonfly-plus: a group is k/2 leaves below k/2 spines, whose other ports go to other groups (Shpiner et
/// al. 2017, "Dragonfly+").
struct DragonflyPlan {
  bool plus = false;
  int nodes = 0, nics = 0;
  BytesPerSecond rate;        ///< of a NIC and of a cable
  int nodes_per_router = 1;   ///< dragonfly-plus: of a leaf
  int routers_per_group = 1;  ///< dragonfly-plus: leaves
  int spines_per_group = 0;   ///< dragonfly-plus only
  int groups = 1;
  int global_ports = 0;                   ///< of a switch that has them: of each router, or of each spine
  int local_cables = 1;                   ///< dragonfly: between every two routers of a group; a full one has one
  int cables_per_pair = 0;                ///< between every two groups
  int most_groups = 1;                    ///< that one cable between every two allows
  int router_ports = 0, spine_ports = 0;  ///< what a switch must offer

  [[nodiscard]] int nodes_per_group() const { return nodes_per_router * routers_per_group; }
  [[nodiscard]] int global_switches() const { return plus ? spines_per_group : routers_per_group; }
};

DragonflyPlan dragonfly_plan(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate,
                             const SwitchFigures& figures);
FabricLevels dragonfly_levels(const DragonflyPlan& plan, const SwitchFigures& figures);

}  // namespace stepcast
