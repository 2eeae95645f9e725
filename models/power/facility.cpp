#include "models/power/facility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/cost/cost.hpp"
#include "models/fabric/check.hpp"
#include "models/fabric/metrics.hpp"
#include "models/fabric/network_switch.hpp"
#include "models/fabric/preset_kinds.hpp"
#include "models/scenario/helper_kinds.hpp"

namespace stepcast {

namespace {

/// Of a rack's 42 units, those left to servers beside a switch and cables. The height is EIA-310's common one.
constexpr int kRackUnits = 40;

/// Whether a network of so many nodes can be built as the scenario describes it. A torus joins like neighbours alone.
bool can_be_built(const Scenario& scenario, const FabricSpec& fabric, const SwitchPart* part, int nodes) {
  if (is_torus(fabric.preset)) return false;
  Diagnostics diagnostics("");
  check_fabric(fabric, nodes, scenario.nics_per_node, scenario.nic_bandwidth, part, "", diagnostics);
  return diagnostics.faults().empty();
}

/// "48 NICs of 100 Gb/s of the parameter servers"
std::string nics_words(const HelperKind& helper) {
  return fmt::format("{} NICs of {:g} Gb/s of the {}",
                     helper.scenario.spec.cluster.nodes * helper.scenario.nics_per_node,
                     helper.scenario.nic_bandwidth.in(1_Gbps), name_of(helper.role));
}

/// Nodes beside those that train, in nodes of the cluster's kind that take as many ports; slower NICs share one, as a
/// port splits.
int helpers_in_nodes(FabricBill& out, const Scenario& scenario, const std::vector<HelperKind>& helpers) {
  double ports = 0;
  for (const HelperKind& helper : helpers) {
    const double each = std::min(1.0, helper.scenario.nic_bandwidth / scenario.nic_bandwidth);
    ports += std::ceil(each * helper.scenario.spec.cluster.nodes * helper.scenario.nics_per_node);
    const bool alike = helper.scenario.nics_per_node == scenario.nics_per_node &&
                       helper.scenario.nic_bandwidth == scenario.nic_bandwidth;
    if (!alike && helper.scenario.nics_per_node > 0)
      out.assumed.push_back(
          fmt::format("{} take or share ports of {:g} Gb/s, {} to a node as the nodes that train have",
                      nics_words(helper), scenario.nic_bandwidth.in(1_Gbps), scenario.nics_per_node));
  }
  return static_cast<int>(std::ceil(ports / scenario.nics_per_node));
}

/// The scenario's, or where its one node needed none before others stood beside it the usual one.
const SwitchPart* switch_of(const Scenario& scenario, const FabricSpec& fabric, const Catalog& catalog) {
  if (scenario.network_switch != nullptr) return scenario.network_switch;
  Diagnostics diagnostics("");
  return network_switch(fabric, scenario.network, scenario.nic_bandwidth, catalog, "", diagnostics);
}

/// Nodes that the network is sized for. One whose cables or dimensions are stated has no ports for others.
int nodes_of_fabric(FabricBill& out, const Scenario& scenario, const FabricSpec& fabric, const SwitchPart* part,
                    const std::vector<HelperKind>& helpers) {
  const int own = scenario.spec.cluster.nodes, all = own + helpers_in_nodes(out, scenario, helpers);
  if (all == own || can_be_built(scenario, fabric, part, all)) return all;
  out.assumed.clear();
  for (const HelperKind& helper : helpers)
    out.unknown.push_back(fmt::format("ports for {} in a fabric that is described without them", nics_words(helper)));
  return own;
}

/// What is paid for the network beside rented helpers, whose ports are their landlord's.
std::optional<Dollars> price_without_rented(const Scenario& scenario, const FabricSpec& fabric, const SwitchPart* part,
                                            std::vector<HelperKind> helpers, const Catalog& catalog) {
  std::erase_if(helpers, [&](const HelperKind& helper) { return is_rented(helper.scenario, catalog); });
  FabricBill ignored;
  const int nodes = nodes_of_fabric(ignored, scenario, fabric, part, helpers);
  if (nodes <= 1) return std::nullopt;
  return fabric_inventory(fabric, *scenario.node, nodes, scenario.nics_per_node, scenario.nic_bandwidth, part, catalog)
      .price;
}

}  // namespace

FabricBill fabric_bill(const Scenario& scenario, const Catalog& catalog) {
  const ClusterSpec& cluster = scenario.spec.cluster;
  FabricBill out;
  out.price = cluster.cost.network_purchase;
  if (scenario.nics_per_node == 0 || !(scenario.nic_bandwidth > BytesPerSecond(0))) return out;
  if (scenario.update == UpdateMode::federated && cluster.nodes > 1) {
    out.unknown.emplace_back("the clients' lines and the server that averages");
    return out;
  }
  // Which node stands where changes no part.
  FabricSpec fabric = cluster.fabric;
  fabric.node_order.clear();
  const SwitchPart* part = switch_of(scenario, fabric, catalog);
  const std::vector<HelperKind> helpers = helper_kinds(scenario, catalog);
  const int nodes = nodes_of_fabric(out, scenario, fabric, part, helpers);
  if (nodes <= 1) return out;
  if (static_cast<long>(nodes) * scenario.devices_per_node() > kMostFabricDevices) {
    out.unknown.emplace_back("a network of so many devices is not drawn");
    return out;
  }
  const FabricInventory parts =
      fabric_inventory(fabric, *scenario.node, nodes, scenario.nics_per_node, scenario.nic_bandwidth, part, catalog);
  out.power = parts.power;
  if (!out.price)
    out.price = nodes == cluster.nodes ? parts.price : price_without_rented(scenario, fabric, part, helpers, catalog);
  out.estimated = parts.estimated;
  out.unknown.insert(out.unknown.end(), parts.unknown.begin(), parts.unknown.end());
  out.assumed.insert(out.assumed.end(), parts.composed.begin(), parts.composed.end());
  return out;
}

std::optional<Racks> racks_of(const NodeKind& kind, Watts node_peak) {
  const Scenario& scenario = *kind.scenario;
  const FacilitySpec& facility = scenario.spec.cluster.facility;
  Racks out;
  out.limit = facility.rack_limit;
  if (!out.limit && scenario.cooling) out.limit = scenario.cooling->max_rack_power;
  const int units = scenario.node->rack_units;
  if (!facility.nodes_per_rack && !out.limit && units == 0) return std::nullopt;
  const int by_height = units > 0 ? std::max(1, kRackUnits / units) : kRackUnits;
  const int by_power =
      out.limit && node_peak > Watts(0) ? std::max(1, static_cast<int>(*out.limit / node_peak)) : by_height;
  out.nodes_per_rack = facility.nodes_per_rack.value_or(std::min(by_height, by_power));
  out.racks = (kind.nodes + out.nodes_per_rack - 1) / out.nodes_per_rack;
  out.rack = node_peak * std::min(out.nodes_per_rack, kind.nodes);
  return out;
}

std::optional<int> spare_supplies(const Scenario& scenario, Watts inside_peak) {
  const auto& supplies = scenario.node->psus;
  if (!supplies) return std::nullopt;
  return supplies->count - static_cast<int>(std::ceil(inside_peak / supplies->rating * (1 - 1e-9)));
}

std::vector<std::string> exceeded_by_nodes(const Scenario& scenario, const std::optional<Racks>& racks,
                                           Watts inside_peak) {
  const FacilitySpec& facility = scenario.spec.cluster.facility;
  std::vector<std::string> out;
  if (const auto& supplies = scenario.node->psus) {
    const int in_use = facility.supplies_in_use.value_or(supplies->count);
    if (inside_peak > supplies->rating * in_use * (1 + 1e-9))
      out.push_back(fmt::format("a node peaks at {:.4g} kW inside, its {} power {} in use {} {:.4g} kW",
                                inside_peak.in(1_kW), in_use, in_use == 1 ? "supply" : "supplies",
                                in_use == 1 ? "gives" : "give", (supplies->rating * in_use).in(1_kW)));
  }
  if (racks && racks->limit && racks->rack > *racks->limit * (1 + 1e-9))
    out.push_back(fmt::format("a rack of {} {} peaks at {:.1f} kW, its limit is {:.1f} kW", racks->nodes_per_rack,
                              racks->nodes_per_rack == 1 ? "node" : "nodes", racks->rack.in(1_kW),
                              racks->limit->in(1_kW)));
  return out;
}

std::vector<std::string> exceeded_by_site(const Scenario& scenario, Watts site_peak, double swing_kW_per_s) {
  const FacilitySpec& facility = scenario.spec.cluster.facility;
  std::vector<std::string> out;
  if (facility.site_limit && site_peak > *facility.site_limit * (1 + 1e-9))
    out.push_back(fmt::format("the site peaks at {:.1f} kW, its limit is {:.1f} kW", site_peak.in(1_kW),
                              facility.site_limit->in(1_kW)));
  if (facility.ramp_limit_kW_per_s && swing_kW_per_s > *facility.ramp_limit_kW_per_s * (1 + 1e-9))
    out.push_back(fmt::format("power swings by {:.0f} kW/s, the limit is {:g} kW/s", swing_kW_per_s,
                              *facility.ramp_limit_kW_per_s));
  return out;
}

}  // namespace stepcast
