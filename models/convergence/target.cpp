#include "models/convergence/target.hpp"

#include <cmath>

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

std::optional<double> steps_to_train(const Scenario& scenario) {
  const std::optional<double> samples = stated_samples(scenario);
  const auto batch = static_cast<double>(scenario.spec.workload.global_batch);
  if (!samples || batch <= 0) return std::nullopt;
  // The last step is a whole one.
  return std::ceil(*samples * work_factor(scenario) / batch);
}

}  // namespace stepcast
