#include "models/parallelism/schedule.hpp"

#include <algorithm>

namespace stepcast {

namespace {

std::vector<Slot> gpipe_order(int micro_batches) {
  std::vector<Slot> order;
  order.reserve(2 * static_cast<std::size_t>(micro_batches));
  for (int m = 0; m < micro_batches; ++m) order.push_back({Phase::forward, 0, m});
  for (int m = micro_batches - 1; m >= 0; --m) order.push_back({Phase::backward, 0, m});
  return order;
}

std::vector<Slot> one_f_one_b_order(int stage, int stages, int micro_batches) {
  const int warm_up = std::min(stages - stage - 1, micro_batches);
  std::vector<Slot> order;
  order.reserve(2 * static_cast<std::size_t>(micro_batches));
  for (int m = 0; m < warm_up; ++m) order.push_back({Phase::forward, 0, m});
  for (int m = warm_up; m < micro_batches; ++m) {
    order.push_back({Phase::forward, 0, m});
    order.push_back({Phase::backward, 0, m - warm_up});
  }
  for (int m = micro_batches - warm_up; m < micro_batches; ++m) order.push_back({Phase::backward, 0, m});
  return order;
}

/// k-th forward (or backward) of a rank in the interleaved schedule: micro-batches go in groups of `stages`, each group
/// through all chunks (in reverse for the backward pass).
Slot interleaved_slot(Phase phase, int k, int stages, int chunks) {
  const int group = k / (stages * chunks);
  const int within = k % (stages * chunks);
  const int chunk = within / stages;
  return {phase, phase == Phase::forward ? chunk : chunks - 1 - chunk, group * stages + within % stages};
}

std::vector<Slot> interleaved_order(int stage, int stages, int chunks, int micro_batches) {
  const int total = micro_batches * chunks;
  // With one group only, Megatron runs every forward pass first.
  const int warm_up =
      micro_batches == stages ? total : std::min(total, 2 * (stages - stage - 1) + (chunks - 1) * stages);
  std::vector<Slot> order;
  order.reserve(2 * static_cast<std::size_t>(total));
  for (int k = 0; k < warm_up; ++k) order.push_back(interleaved_slot(Phase::forward, k, stages, chunks));
  for (int k = warm_up; k < total; ++k) {
    order.push_back(interleaved_slot(Phase::forward, k, stages, chunks));
    order.push_back(interleaved_slot(Phase::backward, k - warm_up, stages, chunks));
  }
  for (int k = total - warm_up; k < total; ++k) order.push_back(interleaved_slot(Phase::backward, k, stages, chunks));
  return order;
}

/// ZB-H1: the 1f1b order with the backward pass split. A rank lets its weight gradients lag behind by its distance from
/// the pipeline's front, which keeps the activations of 1f1b, and fills the drain with them.
std::vector<Slot> zero_bubble_order(int stage, int stages, int micro_batches) {
  const int lag = std::min(stage, micro_batches);
  std::vector<Slot> order;
  order.reserve(3 * static_cast<std::size_t>(micro_batches));
  int weights = 0;
  int inputs = 0;
  const int warm_up = std::min(stages - stage - 1, micro_batches);
  for (const Slot& slot : one_f_one_b_order(stage, stages, micro_batches)) {
    if (slot.phase == Phase::forward) {
      order.push_back(slot);
      continue;
    }
    order.push_back({Phase::backward_input, 0, slot.micro_batch});
    ++inputs;
    const bool draining = inputs > micro_batches - warm_up;
    if (inputs - weights > lag || draining) order.push_back({Phase::backward_weight, 0, weights++});
  }
  while (weights < micro_batches) order.push_back({Phase::backward_weight, 0, weights++});
  return order;
}

}  // namespace

std::vector<Slot> pipeline_order(PipelineSchedule schedule, int stage, int stages, int chunks, int micro_batches) {
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return gpipe_order(micro_batches);
    case PipelineSchedule::one_f_one_b:
      return one_f_one_b_order(stage, stages, micro_batches);
    case PipelineSchedule::interleaved:
      return interleaved_order(stage, stages, chunks, micro_batches);
    case PipelineSchedule::zero_bubble:
      return zero_bubble_order(stage, stages, micro_batches);
  }
  return {};
}

int most_in_flight(const std::vector<Slot>& order) {
  int alive = 0;
  int most = 0;
  for (const Slot& slot : order) {
    if (slot.phase == Phase::forward) most = std::max(most, ++alive);
    // Activations live until the weight gradient has used them.
    if (slot.phase == Phase::backward || slot.phase == Phase::backward_weight) --alive;
  }
  return most;
}

double ideal_bubble(PipelineSchedule schedule, int stages, int chunks, int micro_batches) {
  const double share = (stages - 1.0) / micro_batches;
  if (schedule == PipelineSchedule::interleaved) return share / chunks;
  if (schedule == PipelineSchedule::zero_bubble) return share / 3;
  return share;
}

}  // namespace stepcast
