#include <fmt/format.h>

#include <algorithm>

#include "models/fabric/build/builder.hpp"
#include "models/fabric/check.hpp"
#include "models/fabric/metrics.hpp"
#include "models/fabric/placement.hpp"
#include "models/fabric/plan/torus.hpp"
#include "models/fabric/preset_kinds.hpp"

namespace stepcast {

namespace {

TopSwitches build_site(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site, const SwitchFigures& figures) {
  switch (spec.preset) {
    case FabricPreset::dragonfly:
    case FabricPreset::dragonfly_plus:
      return build_dragonfly(builder, spec, site, figures);
    case FabricPreset::torus_2d:
    case FabricPreset::torus_3d:
      return build_torus(builder, spec, site);
    case FabricPreset::custom:
      return build_custom(builder, spec, site, figures);
    case FabricPreset::single_switch:
    case FabricPreset::fat_tree:
    case FabricPreset::fat_tree_3:
    case FabricPreset::rail_optimized:
    case FabricPreset::rail_only:
      break;
  }
  return build_clos(builder, spec, site, figures);
}

/// A site's topmost switches meet the wide-area network at one point, whose connection is the bottleneck.
void connect_site(FabricBuilder& builder, const FabricSitesSpec& wan, int site, const TopSwitches& tops,
                  Fabric::Vertex network) {
  const auto edge = builder.add_switch(3, site);
  for (const auto top : tops) builder.join(top, edge, {FabricLinkKind::trunk, wan.bandwidth, kCableLatency, 1, 0});
  builder.join(edge, network, {FabricLinkKind::wan, wan.bandwidth, wan.latency / 2, 1, 0});
}

void build_network(FabricBuilder& builder, const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate,
                   const SwitchFigures& figures) {
  const int sites = spec.wan ? spec.wan->sites : 1;
  const int per_site = (nodes + sites - 1) / sites;
  SiteRange site;
  site.nics = nics;
  site.rate = rate;
  const Fabric::Vertex wide = spec.wan ? builder.add_switch(4, 0) : 0;
  for (int i = 0; i < sites; ++i) {
    site.first_node = i * per_site;
    site.nodes = std::min(per_site, nodes - site.first_node);
    if (site.nodes <= 0) break;
    const TopSwitches tops = build_site(builder, spec, site, figures);
    if (spec.wan) connect_site(builder, *spec.wan, i, tops, wide);
  }
}

FabricDetail detail_of(const FabricSpec& spec) {
  return spec.routing == FabricRouting::ecmp ? FabricDetail::cables : FabricDetail::tiers;
}

InteriorOptions interior_options(const FabricSpec& spec, const Node& node, int nics, BytesPerSecond rate) {
  InteriorOptions out;
  out.nics = nics;
  out.nic_bandwidth = rate;
  const bool rails = spec.preset == FabricPreset::rail_optimized || spec.preset == FabricPreset::rail_only;
  out.each_nic_apart = rails || is_torus(spec.preset) || spec.preset == FabricPreset::custom;
  out.nics_are_routers = devices_are_routers(spec, node, nics);
  return out;
}

}  // namespace

namespace {

void require_sense(const FabricSpec& spec, const Node& node, int nodes, int nics, BytesPerSecond nic_bandwidth,
                   const SwitchPart* part) {
  Diagnostics diagnostics("");
  if (static_cast<long>(nodes) * node.devices() > kMostFabricDevices)
    diagnostics.error("/cluster/nodes",
                      fmt::format("{} nodes of {} devices are too many to draw one by one, expected at most {} devices",
                                  nodes, node.devices(), kMostFabricDevices));
  diagnostics.throw_if_faulty();
  check_fabric(spec, nodes, nics, nic_bandwidth, part, "/cluster/fabric", diagnostics);
  diagnostics.throw_if_faulty();
}

}  // namespace

Fabric build_fabric(const FabricSpec& spec, const Node& node, int nodes, int nics, BytesPerSecond nic_bandwidth,
                    const SwitchPart* part, const Catalog& catalog, FabricDetail detail) {
  require_sense(spec, node, nodes, nics, nic_bandwidth, part);
  FabricBuilder builder(node_interior(node, interior_options(spec, node, nics, nic_bandwidth), catalog), nodes, detail);
  const FabricLevels levels = fabric_levels(spec, nodes, nics, nic_bandwidth, part);
  builder.set(spec, levels, part);
  if (nics > 0 && nodes > 1)
    build_network(builder, spec, nodes, nics, nic_bandwidth, SwitchFigures::of(part, nic_bandwidth));
  builder.set_order(place_nodes(spec, levels, nodes));
  return builder.finish();
}

FabricInventory fabric_inventory(const FabricSpec& spec, const Node& node, int nodes, int nics,
                                 BytesPerSecond nic_bandwidth, const SwitchPart* part, const Catalog& catalog) {
  require_sense(spec, node, nodes, nics, nic_bandwidth, part);
  PartsTally tally;
  FabricBuilder builder(node_interior(node, interior_options(spec, node, nics, nic_bandwidth), catalog), nodes, tally);
  if (nics > 0 && nodes > 1)
    build_network(builder, spec, nodes, nics, nic_bandwidth, SwitchFigures::of(part, nic_bandwidth));
  return inventory(tally, spec, is_torus(spec.preset), part, catalog);
}

Fabric build_fabric(const FabricSpec& spec, const Node& node, int nodes, int nics, BytesPerSecond nic_bandwidth,
                    const SwitchPart* part, const Catalog& catalog) {
  return build_fabric(spec, node, nodes, nics, nic_bandwidth, part, catalog, detail_of(spec));
}

}  // namespace stepcast
