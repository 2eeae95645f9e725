#pragma once

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"
#include "models/updates/actor_run.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// The actors of a scenario that has some, beside learners whose step takes `learn`.
ActorJob actor_job(const Job& learners, Seconds learn);

/// The learners' step as the supply of samples makes it: `breakdown` gains their waiting.
UpdateOutcome wait_for_actors(StepBreakdown& breakdown, const Job& learners);

}  // namespace stepcast
