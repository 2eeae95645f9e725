#pragma once

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// A step of any scenario as a run without simulation forecasts it: the closed form where its devices meet by
/// collectives; where they meet otherwise (exchanges_apart), the updates around one node's closed form; and with the
/// waiting of learners for their actors.
StepBreakdown closed_step(const Job& job);

}  // namespace stepcast
