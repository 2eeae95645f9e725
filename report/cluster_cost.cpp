#include "report/cluster_cost.hpp"

#include <fmt/format.h>

namespace stepcast {

DollarsPerSecond ClusterCost::total() const {
  DollarsPerSecond sum = own.total();
  for (const Helper& helper : helpers) sum += helper.rate.total();
  return sum;
}

std::string ClusterCost::basis() const {
  std::string out = own.basis;
  for (const Helper& helper : helpers) out += fmt::format("; {} {}", name_of(helper.role), helper.rate.basis);
  return out;
}

std::optional<ClusterCost> cluster_cost(const Scenario& scenario, const Catalog& catalog,
                                        const std::vector<HelperNodes>& helpers, Watts average_power,
                                        std::optional<Dollars> network) {
  const std::optional<CostRate> own = cost_rate(scenario, catalog, average_power - draw_of(helpers), network);
  if (!own) return std::nullopt;
  ClusterCost out{*own, {}};
  for (const HelperNodes& helper : helpers) {
    const std::optional<CostRate> rate = cost_rate(helper.scenario, catalog, helper.draw);
    if (!rate) return std::nullopt;
    out.helpers.push_back({helper.role, *rate});
  }
  return out;
}

std::vector<std::string> nodes_without_price(const Scenario& scenario, const Catalog& catalog,
                                             const std::vector<HelperNodes>& helpers) {
  std::vector<std::string> out = kinds_without_price(scenario, catalog);
  for (const HelperNodes& helper : helpers)
    for (const std::string& node : kinds_without_price(helper.scenario, catalog))
      out.push_back(fmt::format("{} of the {}", node, helper.what()));
  return out;
}

}  // namespace stepcast
