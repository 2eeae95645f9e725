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

/// Memory traffic of a parameter's outer update after a round of local steps, in bytes: SGD with Nesterov's momentum
/// (Douillard et al. 2023, arXiv 2311.08105, algorithm 1) reads the averaged model, whose difference from the last one
/// is its gradient, reads and writes that one and the momentum in fp32, and writes what the worker goes on with.
double outer_update_bytes(const Scenario& scenario);

/// Simulates the updates of a job (exchanges_apart) whose workers do what one of its nodes does by itself: `lone` is
/// lone_node of its scenario, lowered, `alone` a step of it. Deterministic by `run.seed`.
UpdateStep update_step(const Job& job, const Job& lone, const StepBreakdown& alone);

}  // namespace stepcast
