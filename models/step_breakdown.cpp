#include "models/step_breakdown.hpp"

namespace stepcast {

Seconds StepBreakdown::communication_total() const {
  Seconds sum;
  for (const auto& kind : communication)
    for (const Communication& share : kind) sum += share.total;
  return sum;
}

Seconds StepBreakdown::communication_exposed() const {
  Seconds sum;
  for (const auto& kind : communication)
    for (const Communication& share : kind) sum += share.exposed;
  return sum;
}

Seconds StepBreakdown::input_exposed() const {
  Seconds sum;
  for (const auto& kind : communication) sum += kind[static_cast<std::size_t>(Dimension::storage)].exposed;
  return sum;
}

void add(StepBreakdown& sum, const StepBreakdown& other, double share) {
  for (const auto part : {&StepBreakdown::compute, &StepBreakdown::host, &StepBreakdown::optimizer,
                          &StepBreakdown::overhead, &StepBreakdown::bubble, &StepBreakdown::synchronization_wait,
                          &StepBreakdown::matrix_time, &StepBreakdown::memory_time})
    sum.*part += other.*part * share;
  for (std::size_t kind = 0; kind < kCollectiveKinds; ++kind)
    for (std::size_t dimension = 0; dimension < kDimensions; ++dimension) {
      sum.communication[kind][dimension].total += other.communication[kind][dimension].total * share;
      sum.communication[kind][dimension].exposed += other.communication[kind][dimension].exposed * share;
    }
  sum.executed_flops += other.executed_flops * share;
  sum.average_device_power += other.average_device_power * share;
  sum.peak_device_power += other.peak_device_power * share;
}

}  // namespace stepcast
