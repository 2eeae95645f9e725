#pragma once

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// The closed form of a job's whole step: estimate(), waiting for its input where that takes longer.
StepBreakdown closed_form(const Job& job);

/// Makes a step as long as the job's input takes, where that is longer: devices of a first pipeline stage wait for
/// storage, the others for them. Its power is left as it was.
void wait_for_input(StepBreakdown& step, const Job& job);

}  // namespace stepcast
