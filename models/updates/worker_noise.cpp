#include "models/updates/worker_noise.hpp"

#include <cmath>

#include "models/parallelism/variability.hpp"

namespace stepcast {

namespace {

// From step to step, where the scenario does not say: 2 %. Published step times of one job vary by 1 to 3 % on
// dedicated servers (estimated).
constexpr double kStepSpread = 0.02;
// The largest of n normal draws spreads by π/√6 ÷ √(2 ln n) of one draw's deviation: about 0.6 for eight devices.
constexpr double kSpreadOfSlowest = 0.6;

}  // namespace

WorkerNoise worker_noise(const Scenario& scenario) {
  WorkerNoise noise;
  const bool one = scenario.worker == WorkerUnit::device || scenario.devices_per_node() == 1;
  noise.worker = kDeviceSpread * (one ? 1 : kSpreadOfSlowest);
  noise.step = scenario.spec.strategy.step_spread.value_or(kStepSpread);
  return noise;
}

int workers_of(const Scenario& scenario) {
  return scenario.worker == WorkerUnit::device ? scenario.devices() : scenario.spec.cluster.nodes;
}

}  // namespace stepcast
