#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/power/power.hpp"
#include "models/scenario/node_kinds.hpp"

namespace stepcast {

/// The network between the nodes: what it draws, what it costs and what is not known of it.
struct FabricBill {
  std::optional<Watts> power;                   ///< switches and transceivers, before PUE
  std::optional<Dollars> price;                 ///< switches, transceivers; of rented clusters the landlord's affair
  std::vector<std::string> estimated, unknown;  ///< as of FabricInventory
  /// What ports of nodes beside those that train, and switches larger than any, were taken for, in words.
  std::vector<std::string> assumed;
};
/// Built from the fabric's inventory; empty for one node, but for a price that the scenario states. Parameter servers
/// and actors on nodes of their own take ports of the same fabric, which is sized for all.
FabricBill fabric_bill(const Scenario& scenario, const Catalog& catalog);

/// How the nodes stand in racks.
struct Racks {
  int nodes_per_rack = 1;
  int racks = 1;
  Watts rack;                  ///< of a full one at its peak
  std::optional<Watts> limit;  ///< stated, else what the cooling removes
};
/// Nodes of a rack: stated, else as many as the limit and 40 of its 42 units hold, one at least. Null where neither the
/// node's height nor a limit is known.
std::optional<Racks> racks_of(const NodeKind& kind, Watts node_peak);

/// Power supplies of a node that may fail before those left give less than its peak inside: redundancy N+k. Negative
/// where all of them give less. Null where the node's supplies are unknown.
std::optional<int> spare_supplies(const Scenario& scenario, Watts inside_peak);

/// Limits of the supplies in use and of racks that nodes of the scenario's own kind exceed at their peak, in words.
std::vector<std::string> exceeded_by_nodes(const Scenario& scenario, const std::optional<Racks>& racks,
                                           Watts inside_peak);
/// Limits of `cluster.facility` that the site's peak and its swing exceed, in words.
std::vector<std::string> exceeded_by_site(const Scenario& scenario, Watts site_peak, double swing_kW_per_s);

}  // namespace stepcast
