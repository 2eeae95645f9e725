#include "report/fabric_report.hpp"

namespace stepcast {

namespace {

Json levels_json(const FabricReport& r) {
  Json out = Json::array();
  for (const FabricLevel& level : r.fabric.levels().levels)
    out.push_back({{"nodes", level.nodes},
                   {"up_GBps", level.up.in(1_GBps)},
                   {"cables", level.links},
                   {"oversubscription", r.nic_bandwidth * r.nics * level.nodes / level.up},
                   {"hop_us", level.hop.in(1_us)}});
  return out;
}

Json parts_json(const FabricInventory& inventory) {
  Json tiers = Json::array(), cables = Json::array();
  for (const SwitchTier& tier : inventory.tiers)
    tiers.push_back(
        {{"tier", tier.name}, {"switches", tier.switches}, {"most_ports", tier.most_ports}, {"parts", tier.parts}});
  for (const CableRun& run : inventory.cables)
    cables.push_back({{"between", run.name}, {"cables", run.cables}, {"bandwidth_Gbps", run.bandwidth.in(1_Gbps)}});
  Json out{{"switches", inventory.switches()},       {"ports", inventory.ports}, {"cables", inventory.all_cables()},
           {"transceivers", inventory.transceivers}, {"tiers", tiers},           {"cable_runs", cables}};
  if (!inventory.transceiver.empty()) out["transceiver"] = inventory.transceiver;
  if (inventory.power) out["power_W"] = inventory.power->value();
  if (inventory.price) out["price_usd"] = inventory.price->value();
  if (!inventory.composed.empty()) out["taken_for"] = inventory.composed;
  if (!inventory.estimated.empty()) out["estimated"] = inventory.estimated;
  if (!inventory.unknown.empty()) out["not_counted"] = inventory.unknown;
  return out;
}

}  // namespace

Json fabric_json(const FabricReport& r) {
  Json findings = Json::array();
  for (const FabricFinding& f : r.findings)
    findings.push_back({{"severity", f.fault ? "fault" : "warning"}, {"message", f.message}});
  Json out{{"name", r.name},
           {"preset", name_of(r.spec().preset)},
           {"node", r.node->id},
           {"nodes", r.fabric.nodes()},
           {"devices_per_node", r.fabric.devices_per_node()},
           {"nics_per_node", r.nics},
           {"nic_bandwidth_Gbps", r.nic_bandwidth.in(1_Gbps)},
           {"network", name_of(r.network)},
           {"rails_apart", r.fabric.rails_apart()},
           {"levels", levels_json(r)},
           {"parts", parts_json(r.inventory)},
           {"bisection_GBps", r.bisection.in(1_GBps)},
           {"diameter", {{"links", r.diameter.links}, {"latency_us", r.diameter.latency.in(1_us)}}},
           {"good", !r.faulty()},
           {"findings", findings}};
  if (const SwitchPart* part = r.fabric.network_switch()) out["switch"] = part->id;
  if (const TorusPlan* torus = r.fabric.torus()) {
    Json sizes = Json::array(), wraps = Json::array();
    for (int axis = 0; axis < torus->axes; ++axis) {
      sizes.push_back(torus->size(axis));
      wraps.push_back(!torus->open(axis));
    }
    out["dimensions"] = sizes;
    out["wraps"] = wraps;
  }
  return out;
}

Json fabric_graph_json(const Fabric& fabric) {
  const auto& graph = fabric.graph();
  Json vertices = Json::array(), links = Json::array();
  for (Fabric::Vertex v = 0; v < boost::num_vertices(graph); ++v) {
    Json vertex{{"name", fabric.name(v)}, {"kind", name_of(graph[v].kind)}, {"index", graph[v].index}};
    if (graph[v].node >= 0) vertex["node"] = graph[v].node;
    if (graph[v].kind == VertexKind::network_switch) vertex["level"] = graph[v].level;
    vertices.push_back(std::move(vertex));
  }
  for (int id = 0; id < fabric.link_count(); ++id) {
    const FabricLink& link = fabric.link(id);
    links.push_back({{"id", id},
                     {"from", fabric.source(id)},
                     {"to", fabric.target(id)},
                     {"kind", name_of(link.kind)},
                     {"bandwidth_Gbps", link.bandwidth.in(1_Gbps)},
                     {"latency_us", link.latency.in(1_us)},
                     {"cables", link.cables}});
  }
  return {{"format_version", 1}, {"vertices", vertices}, {"links", links}};
}

}  // namespace stepcast
