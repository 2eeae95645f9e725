#pragma once

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// The closed form of a step: microseconds a configuration, the same cost functions as the simulation. What it leaves
/// out (contention between kinds of traffic, exact schedule effects) is stated in docs/models/estimate.md.
StepBreakdown estimate(const Job& job);

}  // namespace stepcast
