#pragma once

#include <algorithm>
#include <vector>

#include "models/parallelism/unit_times.hpp"

namespace stepcast {

/// Which of a stage's passes gather and reduce, and whether they do so beside the computation.
struct StageTraffic {
  bool forward_ahead = true, backward_ahead = true;  ///< gathers run while the units before are at work
  bool in_backward = true;     ///< else parameters stay whole from the forward pass on (FSDP's SHARD_GRAD_OP)
  bool reduces_beside = true;  ///< else the computation waits after each backward pass
};

/// How a stage works with parameters that every micro-batch gathers: one micro-batch after another, nothing else to
/// wait for.
struct ShardedStage {
  Seconds forward, backward;     ///< passes of every micro-batch but the first, waits for gathers included
  Seconds lead;                  ///< by which the first micro-batch takes longer
  Seconds first_gradients;       ///< when the first backward pass begins
  Seconds last_reduction;        ///< behind the last backward pass
  Seconds gathers;               ///< least time of a micro-batch by its gathers
  Seconds flows;                 ///< the same by what the links carry
  Seconds gathers_alone;         ///< its gathers on idle links
  Seconds reductions;            ///< its reductions, one after another beside the gathers
  Seconds beside_end;            ///< by which a gather lengthens the end of a backward pass; none follows the last
  Seconds before_first;          ///< of `gathers`, what reductions add to the first one, before which none has started
  Seconds beside_last;           ///< of `reductions`, what gathers add to the last one, beside which none runs
  Seconds behind_last;           ///< of `flows`, the last reduction, which follows the computation
  Seconds slowed_first, slowed;  ///< by which collectives lengthen the first micro-batch's computation, and the others'

  /// When the computation of so many micro-batches ends at the earliest, by what has to be gathered before.
  [[nodiscard]] Seconds gathered(double micro_batches) const {
    return std::max(gathers * micro_batches - before_first, flows * micro_batches - behind_last);
  }
  /// Of so many micro-batches, one after another.
  [[nodiscard]] Seconds reduced(double micro_batches) const { return reductions * micro_batches - beside_last; }
};

/// By how much a stage's passes are longer where they gather parameters, which stay whole from a backward pass to the
/// next forward pass (SynchronizationPlan::kept_after_backward), and gradients are reduced at the end of the step.
struct KeptStage {
  Seconds first;                            ///< more of the step's first forward pass, before which nothing has run
  Seconds forward, backward;                ///< of a pass
  Seconds slowed_forward, slowed_backward;  ///< of these, by what flows beside the computation
  Seconds gathers;                          ///< of a pass, on idle links
};
KeptStage kept_stage(const std::vector<UnitTimes>& units, const StageTraffic& traffic, double slowdown);

/// One recurrence over the units (docs/models/estimate.md): parameters are gathered two units ahead, gradients reduced
/// behind; beside them the computation goes at 1 − `slowdown`.
ShardedStage sharded_stage(const std::vector<UnitTimes>& units, const StageTraffic& traffic, double slowdown);

/// What collectives that flow for `flow` beside `work` add to it: while they run, the computation goes at
/// 1 − `slowdown`.
Seconds slowed_by(Seconds flow, Seconds work, double slowdown);

}  // namespace stepcast
