#pragma once

#include "models/parallelism/job.hpp"
#include "models/power/power.hpp"

namespace stepcast {

/// One global batch that is evaluated: forward passes alone.
struct EvaluationStep {
  Seconds time;
  Watts device_power;  ///< mean of one device
};

/// The forward passes of all micro-batches in closed form, on the slowest replica: nothing is recomputed, reduced or
/// updated. A pipeline fills once; a stage whose parameters are sharded takes at least as long as gathering them. Never
/// shorter than the input of the batch takes.
EvaluationStep evaluation_step(const Job& job, const PowerModel& power);

}  // namespace stepcast
