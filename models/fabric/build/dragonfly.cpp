#include "models/fabric/plan/dragonfly.hpp"

#include "models/fabric/build/builder.hpp"

namespace stepcast {

namespace {

using Vertices = std::vector<Fabric::Vertex>;

Vertices add(FabricBuilder& builder, SiteRange& site, int level, int count) {
  Vertices out;
  for (int i = 0; i < count; ++i) out.push_back(builder.add_switch(level, site.first_switch[level]++));
  return out;
}

void hang_nodes(FabricBuilder& builder, const DragonflyPlan& plan, const SiteRange& site, const Vertices& routers,
                const SwitchFigures& figures) {
  const int nics = builder.fabric().interior().nics();
  const int cables = std::max(1, plan.nics / std::max(1, nics));
  for (int n = 0; n < site.nodes; ++n)
    for (int nic = 0; nic < nics; ++nic)
      builder.join_nic(site.first_node + n, nic, routers[static_cast<std::size_t>(n / plan.nodes_per_router)],
                       plan.rate, cables, figures);
}

/// Every router of a group to every other; dragonfly-plus: every leaf to every spine.
void join_group(FabricBuilder& builder, const DragonflyPlan& plan, const Vertices& routers, const Vertices& spines,
                int group, const SwitchFigures& figures) {
  const auto index = static_cast<std::size_t>(group);
  const auto per_group = static_cast<std::size_t>(plan.routers_per_group);
  const std::size_t first = index * per_group, last = first + per_group;
  const std::size_t first_spine = index * static_cast<std::size_t>(plan.spines_per_group);
  for (auto a = first; a < last; ++a) {
    for (auto b = a + 1; b < last && !plan.plus; ++b)
      builder.join_switches(routers[a], routers[b], plan.rate * plan.local_cables, plan.local_cables, figures);
    for (int s = 0; s < plan.spines_per_group; ++s)
      builder.join_switches(routers[a], spines[first_spine + static_cast<std::size_t>(s)], plan.rate, 1, figures);
  }
}

/// The cables between two groups are dealt to the switches of each in order of their global ports.
void join_groups(FabricBuilder& builder, const DragonflyPlan& plan, const Vertices& switches,
                 const SwitchFigures& figures) {
  const int per_group = plan.global_switches();
  const auto owner = [&](int group, int other, int cable) {
    const int port = (other < group ? other : other - 1) * plan.cables_per_pair + cable;
    const int used = (plan.groups - 1) * plan.cables_per_pair;
    // Spread over all switches: with few groups, the first ones would have every cable.
    const int place = static_cast<int>(static_cast<long>(port) * per_group / std::max(1, used));
    return switches[static_cast<std::size_t>(group) * static_cast<std::size_t>(per_group) +
                    static_cast<std::size_t>(place)];
  };
  for (int a = 0; a < plan.groups; ++a)
    for (int b = a + 1; b < plan.groups; ++b)
      for (int c = 0; c < plan.cables_per_pair; ++c)
        builder.join_switches(owner(a, b, c), owner(b, a, c), plan.rate, 1, figures);
}

/// As adaptive routing sees it, which takes detours over other routers and groups under load: a router's cables are one
/// link into its group, and a group's global ones one link to the others. The limit is perfect spreading, as in a Clos
/// network drawn by tiers; what detours carry twice is not counted.
TopSwitches build_tiers(FabricBuilder& builder, const DragonflyPlan& plan, SiteRange& site, const Vertices& routers,
                        const SwitchFigures& figures) {
  Vertices below = routers;
  int level = 0;
  for (const FabricLevel& tier : dragonfly_levels(plan, figures).levels) {
    const int members = tier.nodes == plan.nodes_per_router ? plan.routers_per_group : static_cast<int>(below.size());
    ++level;
    const Vertices above = add(builder, site, level, static_cast<int>(below.size()) / members);
    for (std::size_t i = 0; i < below.size(); ++i)
      builder.join(below[i], above[i / static_cast<std::size_t>(members)],
                   {FabricLinkKind::trunk, tier.up, tier.hop / 2, tier.links, 0});
    below = above;
  }
  return below;
}

}  // namespace

TopSwitches build_dragonfly(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site,
                            const SwitchFigures& figures) {
  const DragonflyPlan plan = dragonfly_plan(spec, site.nodes, site.nics, site.rate, figures);
  const Vertices routers = add(builder, site, 0, plan.groups * plan.routers_per_group);
  hang_nodes(builder, plan, site, routers, figures);
  if (builder.detail() == FabricDetail::tiers) return build_tiers(builder, plan, site, routers, figures);
  const Vertices spines = add(builder, site, 1, plan.groups * plan.spines_per_group);
  for (int group = 0; group < plan.groups; ++group) join_group(builder, plan, routers, spines, group, figures);
  const Vertices& global = plan.plus ? spines : routers;
  join_groups(builder, plan, global, figures);
  return global.empty() ? routers : global;
}

}  // namespace stepcast
