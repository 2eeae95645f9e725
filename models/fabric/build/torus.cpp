#include "models/fabric/plan/torus.hpp"

#include "models/fabric/build/builder.hpp"

namespace stepcast {

TopSwitches build_torus(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site) {
  const TorusPlan plan = torus_plan(spec, site.nodes, site.nics, site.rate);
  for (int node = 0; node < site.nodes; ++node)
    for (int nic = 0; nic < plan.nics; ++nic)
      for (int axis = 0; axis < plan.axes; ++axis) {
        if (plan.size(axis) < 2) continue;
        auto next = plan.coordinates(node, nic);
        int& c = next[static_cast<std::size_t>(axis)];
        if (plan.open(axis) && c + 1 == plan.size(axis)) continue;
        // Two routers along an axis that wraps around have both their links to each other; the second would join them
        // once more.
        if (plan.size(axis) == 2 && c == 1) continue;
        c = (c + 1) % plan.size(axis);
        const auto [other, other_nic] = plan.at(next);
        const int cables = plan.size(axis) == 2 && !plan.open(axis) ? 2 : 1;
        builder.join(builder.fabric().nic(site.first_node + node, nic),
                     builder.fabric().nic(site.first_node + other, other_nic),
                     {FabricLinkKind::trunk, plan.link * cables, kTorusHop, cables, 0});
      }
  builder.set_torus(plan);
  return {};
}

}  // namespace stepcast
