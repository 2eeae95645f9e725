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

bool merges(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::one_f_one_b || schedule == PipelineSchedule::interleaved;
}

/// Forward passes that a rank runs before its first backward pass.
int warm_up_of(PipelineSchedule schedule, int stage, int stages, int chunks, int micro_batches, bool merged) {
  const int total = micro_batches * chunks;
  const int more = merged && merges(schedule) ? 1 : 0;
  if (schedule != PipelineSchedule::interleaved) return std::min(stages - stage - 1 + more, total);
  // With one group only, Megatron runs every forward pass first.
  if (micro_batches == stages) return total;
  return std::min(total, 2 * (stages - stage - 1) + (chunks - 1) * stages + more);
}

/// A forward and a backward pass of the steady state.
void add_pair(std::vector<Slot>& order, const Slot& forward, Slot backward, bool merged) {
  if (merged) {
    backward.forward = Pass{forward.chunk, forward.micro_batch};
  } else {
    order.push_back(forward);
  }
  order.push_back(backward);
}

std::vector<Slot> one_f_one_b_order(int warm_up, int micro_batches, bool merged) {
  std::vector<Slot> order;
  order.reserve(2 * static_cast<std::size_t>(micro_batches));
  for (int m = 0; m < warm_up; ++m) order.push_back({Phase::forward, 0, m});
  for (int m = warm_up; m < micro_batches; ++m)
    add_pair(order, {Phase::forward, 0, m}, {Phase::backward, 0, m - warm_up}, merged);
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

std::vector<Slot> interleaved_order(int warm_up, int stages, int chunks, int micro_batches, bool merged) {
  const int total = micro_batches * chunks;
  std::vector<Slot> order;
  order.reserve(2 * static_cast<std::size_t>(total));
  for (int k = 0; k < warm_up; ++k) order.push_back(interleaved_slot(Phase::forward, k, stages, chunks));
  for (int k = warm_up; k < total; ++k)
    add_pair(order, interleaved_slot(Phase::forward, k, stages, chunks),
             interleaved_slot(Phase::backward, k - warm_up, stages, chunks), merged);
  for (int k = total - warm_up; k < total; ++k) order.push_back(interleaved_slot(Phase::backward, k, stages, chunks));
  return order;
}

/// ZB-H1: the 1f1b order with the backward pass split. A rank lets its weight gradients lag behind by its distance from
/// the pipeline's front, which keeps the activations of 1f1b, and fills the drain with them.
std::vector<Slot> zero_bubble_order(int stage, int warm_up, int micro_batches) {
  const int lag = std::min(stage, micro_batches);
  std::vector<Slot> order;
  order.reserve(3 * static_cast<std::size_t>(micro_batches));
  int weights = 0;
  int inputs = 0;
  for (const Slot& slot : one_f_one_b_order(warm_up, micro_batches, false)) {
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

std::vector<Slot> pipeline_order(PipelineSchedule schedule, int stage, int stages, int chunks, int micro_batches,
                                 bool merged) {
  const int warm_up = warm_up_of(schedule, stage, stages, chunks, micro_batches, merged);
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return gpipe_order(micro_batches);
    case PipelineSchedule::one_f_one_b:
      return one_f_one_b_order(warm_up, micro_batches, merged);
    case PipelineSchedule::interleaved:
      return interleaved_order(warm_up, stages, chunks, micro_batches, merged);
    case PipelineSchedule::zero_bubble:
      return zero_bubble_order(stage, warm_up, micro_batches);
  }
  return {};
}

long merged_slots(PipelineSchedule schedule, int stage, int stages, int chunks, long micro_batches) {
  if (!merges(schedule)) return 0;
  return micro_batches * chunks - warm_up_of(schedule, stage, stages, chunks, static_cast<int>(micro_batches), true);
}

int most_in_flight(const std::vector<Slot>& order) {
  int alive = 0;
  int most = 0;
  for (const Slot& slot : order) {
    if (slot.phase == Phase::forward || slot.forward) most = std::max(most, ++alive);
    // Activations live until the weight gradient has used them.
    if (slot.phase == Phase::backward || slot.phase == Phase::backward_weight) --alive;
  }
  return most;
}

}  // namespace stepcast
