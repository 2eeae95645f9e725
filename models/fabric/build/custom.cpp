#include "models/fabric/plan/custom.hpp"

#include "models/fabric/build/builder.hpp"

namespace stepcast {

namespace {

/// The vertices that an end of a cable means: a switch, a NIC, or all NICs of a node.
std::vector<Fabric::Vertex> vertices_of(const CableEnd& end, const Fabric& fabric,
                                        const std::vector<Fabric::Vertex>& switches) {
  if (end.network_switch >= 0) return {switches[static_cast<std::size_t>(end.network_switch)]};
  if (end.nic) return {fabric.nic(end.node, *end.nic)};
  std::vector<Fabric::Vertex> out;
  out.reserve(fabric.interior().nics());
  for (int nic = 0; nic < fabric.interior().nics(); ++nic) out.push_back(fabric.nic(end.node, nic));
  return out;
}

/// Latency of one direction: a cable's, an adapter's at each end that is a NIC, and the switch that it leaves.
Seconds latency_of(const FabricCableSpec& cable, const CableEnd& from, const CableEnd& to,
                   const SwitchFigures& figures) {
  Seconds out = cable.latency.value_or(kCableLatency);
  out += from.network_switch >= 0 ? figures.latency : kNicLatency;
  if (to.network_switch < 0) out += kNicLatency;
  return out;
}

}  // namespace

TopSwitches build_custom(FabricBuilder& builder, const FabricSpec& spec, SiteRange&, const SwitchFigures& figures) {
  std::vector<Fabric::Vertex> switches;
  for (std::size_t i = 0; i < spec.switches.size(); ++i)
    switches.push_back(builder.add_switch(0, static_cast<int>(i), spec.switches[i].name));
  const CableReader reader(spec.switches);
  for (const FabricCableSpec& cable : spec.cables) {
    const auto from = reader.read(cable.from), to = reader.read(cable.to);
    if (!from || !to) continue;
    const auto ends = vertices_of(*from, builder.fabric(), switches),
               others = vertices_of(*to, builder.fabric(), switches);
    const bool between = from->network_switch >= 0 && to->network_switch >= 0;
    const FabricLink link{between ? FabricLinkKind::trunk : FabricLinkKind::nic, cable.bandwidth * cable.count,
                          latency_of(cable, *from, *to, figures), cable.count, 0};
    const bool pairwise = ends.size() == others.size();
    for (std::size_t i = 0; i < ends.size(); ++i)
      for (std::size_t j = 0; j < others.size(); ++j)
        if (!pairwise || i == j) builder.join(ends[i], others[j], link);
  }
  return switches;
}

}  // namespace stepcast
