#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cost/cost.hpp"
#include "models/power/facility.hpp"
#include "report/helper_nodes.hpp"

namespace stepcast {

/// What a cluster costs while it runs, with the nodes that help it.
struct ClusterCost {
  struct Helper {
    HelperRole role;
    CostRate rate;
  };
  CostRate own;                 ///< of the nodes that train, and of the network
  std::vector<Helper> helpers;  ///< in the order of helper_nodes
  /// Of all of it: what the report's parts add up to.
  [[nodiscard]] DollarsPerSecond total() const;
  /// Which prices, those of helpers after the others; for people.
  [[nodiscard]] std::string basis() const;
};

/// `average_power`: at the meter, of the nodes that train, the network and the helpers together. Null where any node
/// has no price (nodes_without_price): a sum that lacks a part is no cost.
std::optional<ClusterCost> cluster_cost(const Scenario& scenario, const Catalog& catalog,
                                        const std::vector<HelperNodes>& helpers, Watts average_power,
                                        std::optional<Dollars> network);

/// Kinds of nodes that have no price on the scenario's terms, helpers after the others.
std::vector<std::string> nodes_without_price(const Scenario& scenario, const Catalog& catalog,
                                             const std::vector<HelperNodes>& helpers);

}  // namespace stepcast
