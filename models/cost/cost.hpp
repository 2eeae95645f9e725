#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Whether a node, or the one whose price stands for its own, is offered on these terms.
bool offered(const Node& node, PriceBasis basis, const Catalog& catalog);

/// Whether a scenario's own kind of node is rented on its terms, so that its network is the landlord's.
bool is_rented(const Scenario& scenario, const Catalog& catalog);
/// What one node costs to buy, or per accelerator the one whose price stands for its own. Null where neither is sold.
std::optional<Dollars> purchase_price(const Node& node, const Catalog& catalog);

/// What one node of a scenario's own kind costs to buy on the scenario's terms: nothing where it is rented, the stated
/// price, else purchase_price().
std::optional<Dollars> price_on_terms(const Scenario& scenario, const Catalog& catalog);

/// What the cluster costs while it runs.
struct CostRate {
  DollarsPerSecond servers;      ///< rent, or purchase price over its amortisation
  DollarsPerSecond network;      ///< of a bought cluster: the fabric over its amortisation
  DollarsPerSecond electricity;  ///< zero when rent includes it
  DollarsPerSecond upkeep;       ///< of a bought cluster: staff, space, repairs, where stated
  std::string basis;             ///< which price, of when, how well known, and what was made of it; for people
  /// Of all four.
  [[nodiscard]] DollarsPerSecond total() const { return servers + network + electricity + upkeep; }
};

/// Cost of the whole cluster per time at a mean power at the meter, on the terms of `cluster.cost`. `network`: price of
/// the fabric, which a bought cluster pays too. A node without a price of its own
/// costs per accelerator what its `price_like` costs, which the basis says. Null when a kind of node has neither
/// (kinds_without_price).
std::optional<CostRate> cost_rate(const Scenario& scenario, const Catalog& catalog, Watts average_power,
                                  std::optional<Dollars> network = std::nullopt);

/// Ids of the cluster's kinds of nodes that have no price on the terms of `cluster.cost`.
std::vector<std::string> kinds_without_price(const Scenario& scenario, const Catalog& catalog);

}  // namespace stepcast
