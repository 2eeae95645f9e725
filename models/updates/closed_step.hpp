#pragma once

#include <optional>

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// A step of any scenario as a run without simulation forecasts it: the closed form where its devices meet by
/// collectives; where they meet otherwise (exchanges_apart), the updates around one node's closed form; and with the
/// waiting of learners for their actors.
StepBreakdown closed_step(const Job& job);

/// The same with what becomes of updates; null where devices meet by collectives and no actors generate.
struct ClosedStep {
  StepBreakdown breakdown;
  std::optional<UpdateOutcome> updates;
};
ClosedStep closed_step_of(const Job& job);

}  // namespace stepcast
