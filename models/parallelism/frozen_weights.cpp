#include "models/parallelism/frozen_weights.hpp"

#include "models/parallelism/synchronization.hpp"

namespace stepcast {

namespace {

// Dettmers et al. 2023 (arXiv 2305.14314), section 3: blocks of 64 weights have a scale of 8 bit, blocks of 256 scales
// one of 32.
constexpr double kNormalFloat = (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8;
// Dettmers et al. 2022 (arXiv 2208.07339): a scale a row, which is next to nothing.
constexpr double kInt8 = 1;

}  // namespace

AdapterTargets adapter_targets(const Scenario& scenario) {
  return scenario.spec.workload.adapter_targets.value_or(AdapterTargets::attention);
}

double packed_weight_bytes(const WorkloadSpec& workload) {
  if (!workload.frozen_weights) return 0;
  return *workload.frozen_weights == PackedWeights::nf4 ? kNormalFloat : kInt8;
}

double packed_over_whole(const Scenario& scenario) {
  const double packed = packed_weight_bytes(scenario.spec.workload);
  return packed > 0 ? packed / parameter_bytes(scenario) : 1;
}

}  // namespace stepcast
