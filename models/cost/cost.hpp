#pragma once

#include <optional>
#include <string>

#include "models/scenario/scenario.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What the cluster costs while it runs.
struct CostRate {
  DollarsPerSecond servers;      ///< rent, or purchase price over its amortisation
  DollarsPerSecond electricity;  ///< zero when rent includes it
  std::string basis;             ///< "on demand", "per month", "bought, amortised over 4 years"
  [[nodiscard]] DollarsPerSecond total() const { return servers + electricity; }
};

/// Cost of the whole cluster per time at a mean power at the meter; null when the catalogue knows no price of the node.
std::optional<CostRate> cost_rate(const Scenario& scenario, Watts average_power);

}  // namespace stepcast
