#include "models/convergence/target.hpp"

#include <cmath>

#include "models/updates/round_steps.hpp"
#include "models/updates/worker_noise.hpp"

namespace stepcast {

namespace {

/// Samples to train, when the scenario states its work in any of the three ways.
std::optional<double> stated_samples(const Scenario& scenario) {
  const WorkloadSpec& workload = scenario.spec.workload;
  if (workload.tokens && scenario.seq_len > 0) return *workload.tokens / scenario.seq_len;
  if (workload.samples) return *workload.samples;
  if (workload.epochs && scenario.model->dataset_samples > 0) return *workload.epochs * scenario.model->dataset_samples;
  return std::nullopt;
}

}  // namespace

double work_factor(const Scenario& scenario) {
  return work_factor(scenario, static_cast<double>(scenario.spec.workload.global_batch));
}

double work_factor(const Scenario& scenario, double batch) {
  const WorkloadSpec& workload = scenario.spec.workload;
  if (!workload.critical_batch) return 1;
  const double stated = workload.stated_at_batch.value_or(static_cast<double>(workload.global_batch));
  return (1 + batch / *workload.critical_batch) / (1 + stated / *workload.critical_batch);
}

double mean_worth(const Scenario& scenario, double first, double last) {
  const double before = work_factor(scenario, first), after = work_factor(scenario, last);
  // The factor is linear in the batch.
  return before == after ? 1 / before : std::log(after / before) / (after - before);
}

namespace {

/// Steps that a worker makes from a model of its own before it meets the others.
double local_steps(const Scenario& scenario) {
  return scenario.update == UpdateMode::federated ? federated_steps(scenario) : scenario.spec.strategy.local_steps;
}

/// Whether updates are computed from parameters that others have changed meanwhile.
bool stale(const Scenario& scenario) {
  using enum UpdateMode;
  const auto& actors = scenario.spec.strategy.actors;
  return scenario.update == asynchronous || scenario.update == pair_averaging ||
         (scenario.update == stale_synchronous && scenario.spec.strategy.staleness_bound.value_or(0) > 0) ||
         (actors && actors->staleness_bound > 0);
}

/// Updates that a stale one may miss, or what they grow with: the bound, or the workers that update beside it.
double staleness(const Scenario& scenario) {
  if (!stale(scenario)) return 0;
  if (const auto& actors = scenario.spec.strategy.actors) return actors->staleness_bound;
  const double workers = workers_of(scenario);
  return scenario.update == UpdateMode::stale_synchronous ? workers * *scenario.spec.strategy.staleness_bound : workers;
}

/// Half precision rounds; every other method leaves out more than that.
bool lossy(const CompressionSpec& compression) {
  return compression.method != CompressionMethod::none && compression.method != CompressionMethod::fp16;
}

}  // namespace

std::vector<std::string> uncounted_updates(const Scenario& scenario) {
  std::vector<std::string> out;
  if (stale(scenario)) out.emplace_back("stale updates");
  if (scenario.update == UpdateMode::gossip) out.emplace_back("averages over neighbours alone");
  if (local_steps(scenario) > 1) out.emplace_back("local steps");
  if (lossy(scenario.spec.strategy.compression)) out.emplace_back("compressed gradients");
  return out;
}

bool may_need_more_samples(const Scenario& before, const Scenario& after) {
  const CompressionSpec &was = before.spec.strategy.compression, &is = after.spec.strategy.compression;
  const bool larger = after.spec.workload.global_batch > before.spec.workload.global_batch;
  return (larger && after.spec.workload.critical_batch) || local_steps(after) > local_steps(before) ||
         staleness(after) > staleness(before) || (lossy(is) && is != was);
}

std::optional<double> steps_to_train(const Scenario& scenario) {
  const std::optional<double> samples = stated_samples(scenario);
  const auto batch = static_cast<double>(scenario.spec.workload.global_batch);
  if (!samples || batch <= 0) return std::nullopt;
  // The last step is a whole one.
  return std::ceil(*samples * work_factor(scenario) / batch);
}

}  // namespace stepcast
