#pragma once

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// A step of workers that meet otherwise than by collectives: means over workers. In a step every worker computes one
/// gradient; without a common barrier it is the time in which all have.
struct UpdateStep {
  StepBreakdown breakdown;
  UpdateOutcome outcome;
};

/// Simulates the updates of a job (exchanges_apart) whose workers do what one of its nodes does by itself: `lone` is
/// lone_node of its scenario, lowered, `alone` a step of it. Deterministic by `run.seed`.
UpdateStep update_step(const Job& job, const Job& lone, const StepBreakdown& alone);

}  // namespace stepcast
