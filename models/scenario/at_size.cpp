#include "models/scenario/at_size.hpp"

#include "models/scenario/stated_batch.hpp"

namespace stepcast {

void free_data_parallel(Json& scenario) {
  const auto strategy = scenario.find("strategy");
  if (strategy != scenario.end() && strategy->is_object()) strategy->erase("data_parallel");
}

Json at_size(Json scenario, int nodes, long global_batch) {
  keep_stated_batch(scenario, scenario);
  scenario["cluster"]["nodes"] = nodes;
  scenario["workload"]["global_batch"] = global_batch;
  free_data_parallel(scenario);
  return scenario;
}

std::optional<long> batch_at_size(const ScenarioSpec& scenario, int nodes) {
  const long scaled = scenario.workload.global_batch * nodes;
  if (scaled % scenario.cluster.nodes != 0) return std::nullopt;
  return scaled / scenario.cluster.nodes;
}

}  // namespace stepcast
