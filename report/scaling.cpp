#include "report/scaling.hpp"

#include <algorithm>

namespace stepcast {

std::pair<std::string, double> largest_loss(const Prediction& p) {
  std::vector<std::pair<std::string, Seconds>> losses{{"pipeline bubble", p.bubble},
                                                      {"waiting for slower members", p.synchronization_wait},
                                                      {"optimizer", p.optimizer},
                                                      {"host issues kernels too slowly", p.host},
                                                      {"fixed overhead of a step", p.overhead - p.host}};
  for (const auto& [dimension, share] : p.communication.by_dimension)
    losses.emplace_back(dimension == "storage" ? std::string("reading input") : dimension + "-parallel communication",
                        share.exposed);
  const auto worst =
      std::max_element(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (!(worst->second > Seconds(0))) return {"nothing but computation", 0.0};
  return {worst->first, worst->second / p.step_time};
}

Scaling scaling_of(std::string scenario_name, ScalingMode mode, std::vector<ScalingRow> rows) {
  Scaling out{std::move(scenario_name), mode, std::move(rows), std::nullopt};
  const ScalingRow* base = nullptr;
  const ScalingRow* before = nullptr;
  for (ScalingRow& row : out.rows) {
    if (!row.prediction) continue;
    if (!base) base = &row;
    const double per_node = base->prediction->samples_per_s / base->nodes;
    row.efficiency = row.prediction->samples_per_s / row.nodes / per_node;
    if (before) {
      const double gained = row.prediction->samples_per_s - before->prediction->samples_per_s;
      row.marginal_efficiency = gained / (row.nodes - before->nodes) / per_node;
      if (*row.marginal_efficiency < kMarginalEfficiencyThatPays && !out.pays_until) out.pays_until = before->nodes;
    }
    before = &row;
  }
  return out;
}

}  // namespace stepcast
