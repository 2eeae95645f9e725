#pragma once

#include <optional>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

enum class Phase { forward, backward, backward_input, backward_weight };

/// A micro-batch's way through one virtual stage of a rank.
struct Pass {
  int chunk = 0, micro_batch = 0;
};

/// One slot of a pipeline rank's program.
struct Slot {
  Phase phase = Phase::forward;
  int chunk = 0;  ///< virtual stage on the rank
  int micro_batch = 0;
  std::optional<Pass> forward = {};  ///< of another micro-batch, layer for layer between this backward pass's
};

/// The order in which pipeline rank `stage` works. gpipe: Huang et al. 2019; 1f1b: Narayanan et al. 2019
/// (PipeDream-flush); interleaved: Narayanan et al. 2021 (micro_batches must divide by stages); zero-bubble: Qi et al.
/// 2023 (ZB-H1: weight gradients fill the drain). With `merged` passes a rank starts one forward pass more, so that
/// each forward pass of the steady state can go with a backward pass that does not need it (Megatron's combined 1f1b);
/// gpipe and zero-bubble are as they are.
std::vector<Slot> pipeline_order(PipelineSchedule schedule, int stage, int stages, int chunks, int micro_batches,
                                 bool merged = false);

/// Slots of `pipeline_order` that hold two passes, of one rank.
long merged_slots(PipelineSchedule schedule, int stage, int stages, int chunks, long micro_batches);

/// Largest number of micro-batch·chunk activations alive at once on the rank, walked from the order.
int most_in_flight(const std::vector<Slot>& order);

}  // namespace stepcast
