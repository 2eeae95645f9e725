#pragma once

#include <vector>

#include "models/parallelism/unit_times.hpp"

namespace stepcast {

/// What flows for `flow` beside `work` adds to it: while it runs, the computation goes at 1 − `slowdown`.
Seconds slowed_by(Seconds flow, Seconds work, double slowdown);

/// How a stage's passes are held up by the collectives of sharded parameters.
struct PassRules {
  double slowdown = 0;             ///< of computation beside a collective
  bool prefetch_backward = false;  ///< backward passes gather ahead as forward passes do
  Seconds forward_sends;           ///< the stage waits for them behind its forward pass of a micro-batch
  Seconds backward_sends;          ///< the same behind its backward pass
};

/// A stage's work over the step, as if no other stage held it up.
struct ShardedStage {
  Seconds end;         ///< of computation, gathers, reductions and its own sends
  Seconds slowed;      ///< by which collectives have lengthened the computation
  Seconds gathers;     ///< of all micro-batches, each alone
  Seconds reductions;  ///< of all micro-batches, beside the gathers
};

/// One recurrence over the units for a first and a second micro-batch; the others repeat the second
/// (docs/models/estimate.md). `units` in the order in which the backward pass completes them, none missing.
ShardedStage sharded_stage(const std::vector<UnitTimes>& units, double micro_batches, const PassRules& rules);

}  // namespace stepcast
