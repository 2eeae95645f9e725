#include "models/fabric/plan/dragonfly.hpp"

#include <algorithm>
#include <cmath>

#include "models/fabric/plan/ceil_div.hpp"

namespace stepcast {

namespace {

/// Global cables between two groups: those of a group, less what oversubscription saves, shared among the others.
int pair_cables(const DragonflyPlan& plan, double oversubscription) {
  if (plan.groups < 2) return 0;
  const double all = static_cast<double>(plan.global_switches()) * plan.global_ports / oversubscription;
  return std::max(1, static_cast<int>(all / (plan.groups - 1) + 1e-9));
}

/// Cables between two routers of a group. Between fewer routers than a full group's they are more, so that a router
/// sends on what its NICs receive, less what oversubscription saves, as far as it has ports.
int local_cables(const DragonflyPlan& plan, int used, double oversubscription, int ports) {
  const int others = plan.routers_per_group - 1;
  if (others < 1 || plan.groups > 1) return 1;
  const int wanted = static_cast<int>(std::ceil(used / oversubscription / others - 1e-9));
  return std::max(1, std::min(wanted, (ports - used) / others));
}

void size_dragonfly(DragonflyPlan& plan, const FabricSpec& spec, int ports) {
  const int hosts = (ports + 1) / 4;
  plan.nodes_per_router = spec.nodes_per_leaf.value_or(std::max(1, hosts / plan.nics));
  const int used = plan.nodes_per_router * plan.nics;
  plan.global_ports = used;
  const int full = 2 * used;
  plan.groups = ceil_div(plan.nodes, plan.nodes_per_router * full);
  plan.routers_per_group = plan.groups > 1 ? full : ceil_div(plan.nodes, plan.nodes_per_router);
  plan.local_cables = local_cables(plan, used, spec.oversubscription, ports);
  plan.router_ports =
      used + (plan.routers_per_group - 1) * plan.local_cables + (plan.groups > 1 ? plan.global_ports : 0);
  plan.most_groups = full * used + 1;
}

void size_dragonfly_plus(DragonflyPlan& plan, const FabricSpec& spec, int ports) {
  const int half = std::max(1, ports / 2);
  plan.nodes_per_router = spec.nodes_per_leaf.value_or(std::max(1, half / plan.nics));
  const int used = plan.nodes_per_router * plan.nics;
  plan.groups = ceil_div(plan.nodes, plan.nodes_per_router * half);
  plan.routers_per_group = plan.groups > 1 ? half : ceil_div(plan.nodes, plan.nodes_per_router);
  plan.spines_per_group = plan.routers_per_group > 1 || plan.groups > 1 ? used : 0;
  plan.global_ports = half;
  plan.router_ports = used + plan.spines_per_group;
  plan.spine_ports = plan.routers_per_group + (plan.groups > 1 ? plan.global_ports : 0);
  plan.most_groups = plan.spines_per_group * half + 1;
}

}  // namespace

DragonflyPlan dragonfly_plan(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate,
                             const SwitchFigures& figures) {
  DragonflyPlan plan;
  plan.plus = spec.preset == FabricPreset::dragonfly_plus;
  plan.nodes = nodes;
  plan.nics = std::max(1, nics);
  plan.rate = rate;
  if (plan.plus) {
    size_dragonfly_plus(plan, spec, figures.ports);
  } else {
    size_dragonfly(plan, spec, figures.ports);
  }
  plan.cables_per_pair = pair_cables(plan, spec.oversubscription);
  return plan;
}

FabricLevels dragonfly_levels(const DragonflyPlan& plan, const SwitchFigures& figures) {
  FabricLevels out;
  const Seconds step = figures.latency + kCableLatency;
  const int global = plan.cables_per_pair * (plan.groups - 1);
  if (plan.routers_per_group > 1) {
    // A router's share of the group's global cables; leaves of a dragonfly-plus have none of their own.
    const double up = plan.plus ? plan.spines_per_group
                                : (plan.routers_per_group - 1) * plan.local_cables +
                                      static_cast<double>(global) / plan.routers_per_group;
    const auto links = static_cast<int>(std::lround(up));
    out.levels.push_back({plan.nodes_per_router, plan.rate * up, links, step * (plan.plus ? 2 : 1)});
  }
  // At most local, global, local; dragonfly-plus: leaf, spine, spine, leaf.
  if (plan.groups > 1)
    out.levels.push_back({plan.nodes_per_group(), plan.rate * global, global, step * (plan.plus ? 1 : 2)});
  return out;
}

}  // namespace stepcast
