#include "models/fabric/levels.hpp"

#include <algorithm>

#include "models/fabric/plan/clos.hpp"
#include "models/fabric/plan/custom.hpp"
#include "models/fabric/plan/dragonfly.hpp"
#include "models/fabric/plan/torus.hpp"

namespace stepcast {

namespace {

FabricLevels levels_of_site(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate, const SwitchPart* part) {
  const SwitchFigures figures = SwitchFigures::of(part, rate);
  switch (spec.preset) {
    case FabricPreset::dragonfly:
    case FabricPreset::dragonfly_plus:
      return dragonfly_levels(dragonfly_plan(spec, nodes, nics, rate, figures), figures);
    case FabricPreset::torus_2d:
    case FabricPreset::torus_3d:
      return torus_levels(torus_plan(spec, nodes, nics, rate));
    case FabricPreset::custom:
      return custom_levels(spec, nodes, nics, rate, figures);
    case FabricPreset::single_switch:
    case FabricPreset::fat_tree:
    case FabricPreset::fat_tree_3:
    case FabricPreset::rail_optimized:
    case FabricPreset::rail_only:
      break;
  }
  return clos_levels(clos_plan(spec, nodes, nics, rate, figures), figures, spec.pxn);
}

}  // namespace

FabricLevels fabric_levels(const FabricSpec& spec, int nodes, int nics_per_node, BytesPerSecond nic_bandwidth,
                           const SwitchPart* part) {
  if (nodes <= 1 || nics_per_node <= 0) return {};
  if (!spec.wan) return levels_of_site(spec, nodes, nics_per_node, nic_bandwidth, part);
  const FabricSitesSpec& wan = *spec.wan;
  const int per_site = (nodes + wan.sites - 1) / wan.sites;
  FabricLevels out = levels_of_site(spec, per_site, nics_per_node, nic_bandwidth, part);
  if (per_site < nodes) out.levels.push_back({per_site, wan.bandwidth, 1, wan.latency});
  return out;
}

}  // namespace stepcast
