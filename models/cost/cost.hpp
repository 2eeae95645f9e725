#pragma once

#include <optional>
#include <string>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What the cluster costs while it runs.
struct CostRate {
  DollarsPerSecond servers;      ///< rent, or purchase price over its amortisation
  DollarsPerSecond electricity;  ///< zero when rent includes it
  std::string basis;             ///< which price, of when, how well known, and what was made of it; for people
  [[nodiscard]] DollarsPerSecond total() const { return servers + electricity; }
};

/// Cost of the whole cluster per time at a mean power at the meter. A node without a price of its own costs per
/// accelerator what its `price_like` costs, which the basis says. Null when neither has a price.
std::optional<CostRate> cost_rate(const Scenario& scenario, const Catalog& catalog, Watts average_power);

}  // namespace stepcast
