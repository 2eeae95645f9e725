#include "models/updates/round_steps.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

double federated_steps(const Scenario& scenario) {
  const FederatedSpec& spec = *scenario.spec.strategy.federated;
  const double batch = static_cast<double>(scenario.spec.workload.global_batch) / scenario.spec.cluster.nodes;
  return std::max(1.0, std::ceil(spec.local_epochs * spec.samples_per_client / batch));
}

double steps_of_round(const Scenario& scenario) {
  if (scenario.update == UpdateMode::federated) return federated_steps(scenario);
  return scenario.update == UpdateMode::local ? scenario.spec.strategy.local_steps : 1;
}

}  // namespace stepcast
