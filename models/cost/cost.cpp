#include "models/cost/cost.hpp"

namespace stepcast {

namespace {

// A bought server is written off over four years, as Alphabet did from 2021 to 2022 (annual reports, recalled; cloud
// operators have since gone to five or six). Interest, space and staff are left out.
constexpr Seconds kAmortisation = 4 * 365.25 * 1_days;
// Business mean of the world, 0.148 $/kWh (sites electricity-world-business), where the site does not say.
constexpr DollarsPerJoule kDefaultElectricity = 0.148_usd / 1_kWh;

DollarsPerSecond electricity(const Scenario& scenario, Watts power) {
  const bool known = scenario.site && scenario.site->electricity;
  return power * (known ? *scenario.site->electricity : kDefaultElectricity);
}

}  // namespace

std::optional<CostRate> cost_rate(const Scenario& scenario, Watts average_power) {
  if (!scenario.node->price) return std::nullopt;
  const NodePrice& price = *scenario.node->price;
  const double nodes = scenario.spec.cluster.nodes;
  if (price.on_demand) return CostRate{nodes * *price.on_demand, {}, "on demand"};
  if (price.monthly) return CostRate{nodes * *price.monthly, {}, "per month"};
  if (price.purchase)
    return CostRate{nodes * *price.purchase / kAmortisation, electricity(scenario, average_power),
                    "bought, amortised over 4 years"};
  return std::nullopt;
}

}  // namespace stepcast
