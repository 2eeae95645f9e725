#include "models/fabric/plan/clos.hpp"

#include <algorithm>
#include <cmath>

#include "models/fabric/plan/ceil_div.hpp"

namespace stepcast {

namespace {

/// Cables that carry `down` ports' traffic at an oversubscription; a hair less, so that 64 / 2 is not 33.
int up_cables(int down, double oversubscription) {
  return std::max(1, static_cast<int>(std::ceil(down / oversubscription - 1e-9)));
}

bool has_rails(const FabricSpec& spec) {
  return spec.preset == FabricPreset::rail_optimized || spec.preset == FabricPreset::rail_only;
}

/// One switch (for each rail) joins all nodes.
bool fits_one_tier(const FabricSpec& spec, const ClosPlan& plan, int ports) {
  if (spec.preset == FabricPreset::single_switch || plan.nodes == 1) return true;
  if (spec.preset == FabricPreset::fat_tree_3) return false;
  // Without a spine, rails would be apart.
  if (spec.preset == FabricPreset::rail_optimized && plan.rails > 1) return false;
  if (spec.nodes_per_leaf) return plan.nodes <= *spec.nodes_per_leaf;
  return plan.nodes * plan.nics_per_leaf <= ports;
}

void size_leaves(ClosPlan& plan, const FabricSpec& spec, int ports) {
  const double o = spec.oversubscription;
  const auto down = static_cast<int>(ports * o / (1 + o) + 1e-9);
  plan.nodes_per_leaf = spec.nodes_per_leaf.value_or(std::max(1, down / plan.nics_per_leaf));
  plan.groups = ceil_div(plan.nodes, plan.nodes_per_leaf);
  // Where all nodes hang on one leaf (of a rail), what it has of them needs up-links, not what it could have.
  const int used = std::min(plan.nodes, plan.nodes_per_leaf) * plan.nics_per_leaf;
  plan.leaf_up = up_cables(used, o);
  plan.leaf_up_rate = plan.rate * used / o;
  plan.leaf_ports = used + plan.leaf_up;
}

void one_tier(ClosPlan& plan) {
  plan.tiers = 1;
  plan.nodes_per_leaf = plan.nodes;
  plan.planes = plan.rails_joined ? 1 : plan.rails;
  plan.leaf_ports = plan.nodes * plan.nics_per_leaf;
}

void two_tiers(ClosPlan& plan, int ports) {
  plan.tiers = 2;
  plan.groups_per_pod = plan.groups;
  plan.planes = plan.rails_joined ? 1 : plan.rails;
  const int joined = plan.groups * plan.rails / plan.planes;
  const int cables = std::clamp(ports / joined, 1, plan.leaf_up);
  plan.spines_per_plane = ceil_div(plan.leaf_up, cables);
  plan.spine_ports = joined * ceil_div(plan.leaf_up, plan.spines_per_plane);
}

/// Spines of how many numbers share a set of cores: the choice that needs the fewest cores.
void size_cores(ClosPlan& plan, int joined_planes, int ports) {
  int least = 0;
  for (int spines = 1; spines <= std::max(1, ports / joined_planes); ++spines) {
    if (plan.spines_per_plane % spines != 0) continue;
    const int cables = std::clamp(ports / (joined_planes * spines), 1, plan.spine_up);
    const int cores = ceil_div(plan.spine_up, cables);
    const int sets = plan.spines_per_plane / spines;
    if (least > 0 && sets * cores >= least) continue;
    least = sets * cores;
    plan.spines_per_set = spines;
    plan.cores_per_set = cores;
    plan.core_sets = sets;
  }
  plan.core_ports = joined_planes * plan.spines_per_set * ceil_div(plan.spine_up, plan.cores_per_set);
}

void three_tiers(ClosPlan& plan, const FabricSpec& spec, int ports) {
  plan.tiers = 3;
  const int most = std::max(1, ports / 2);
  const int wanted = spec.nodes_per_pod ? ceil_div(*spec.nodes_per_pod, plan.nodes_per_leaf) : most;
  plan.groups_per_pod = std::min(wanted, plan.groups);
  plan.pods = ceil_div(plan.groups, plan.groups_per_pod);
  plan.planes = plan.pods * plan.rails;
  const int leaves = plan.groups_per_pod;
  const int cables = std::clamp(most / leaves, 1, plan.leaf_up);
  plan.spines_per_plane = ceil_div(plan.leaf_up, cables);
  const int down = leaves * ceil_div(plan.leaf_up, plan.spines_per_plane);
  const double o = spec.core_oversubscription;
  plan.spine_up = up_cables(down, o);
  plan.spine_up_rate = plan.leaf_up_rate * leaves / plan.spines_per_plane / o;
  plan.spine_ports = down + plan.spine_up;
  const int joined = plan.rails_joined ? plan.planes : plan.pods;
  size_cores(plan, joined, ports);
  if (!plan.rails_joined) plan.core_sets *= plan.rails;
}

}  // namespace

int ClosPlan::plane_of(int group, int rail) const {
  if (tiers < 3) return rails_joined ? 0 : rail;
  return pod_of(group) * rails + rail;
}

ClosPlan clos_plan(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate, const SwitchFigures& figures) {
  ClosPlan plan;
  plan.nodes = nodes;
  plan.nics = nics;
  plan.rate = rate;
  plan.rails = has_rails(spec) ? std::max(1, nics) : 1;
  plan.rails_joined = spec.preset != FabricPreset::rail_only || plan.rails == 1;
  plan.nics_per_leaf = std::max(1, nics / plan.rails);
  if (fits_one_tier(spec, plan, figures.ports)) {
    one_tier(plan);
    return plan;
  }
  size_leaves(plan, spec, figures.ports);
  const int joined = plan.groups * (plan.rails_joined ? plan.rails : 1);
  if (spec.preset == FabricPreset::fat_tree_3 || joined > figures.ports) {
    three_tiers(plan, spec, figures.ports);
  } else {
    two_tiers(plan, figures.ports);
  }
  return plan;
}

FabricLevels clos_levels(const ClosPlan& plan, const SwitchFigures& figures, bool pxn) {
  FabricLevels out;
  out.rails_apart = plan.rails > 1;
  // One tier higher: up a cable and down one, through two more switches.
  const Seconds hop = 2 * (figures.latency + kCableLatency);
  const bool between_rails = !pxn && out.rails_apart && plan.rails_joined && plan.tiers > 1;
  if (plan.groups > 1 || between_rails)
    out.levels.push_back({plan.nodes_per_leaf, plan.leaf_up_rate * plan.rails, plan.leaf_up * plan.rails, hop});
  if (plan.pods > 1 || (between_rails && plan.tiers > 2)) {
    const int spines = plan.spines_per_plane * plan.planes_per_pod();
    out.levels.push_back(
        {plan.nodes_per_leaf * plan.groups_per_pod, plan.spine_up_rate * spines, plan.spine_up * spines, hop});
  }
  return out;
}

}  // namespace stepcast
