#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/scenario_document.hpp"
#include "cli/session.hpp"
#include "report/prediction.hpp"
#include "report/shared_jobs.hpp"

namespace stepcast {

/// A prediction of one scenario, or what is wrong with it.
struct PredictionOutcome {
  std::optional<Prediction> prediction;
  std::vector<Fault> faults;
};

/// Predicts a scenario as its `run.fidelity` says: in closed form here, or simulated by the worker, which also writes
/// the trace if one is asked for. Throws InputError with every fault of the scenario.
Prediction predict_scenario(Session& session, const ScenarioDocument& scenario,
                            const std::optional<std::filesystem::path>& trace = std::nullopt);

/// Predicts many, `jobs` at a time. Outcomes are in the order of the scenarios and do not depend on `jobs`.
std::vector<PredictionOutcome> predict_scenarios(Session& session, const std::vector<ScenarioDocument>& scenarios,
                                                 int jobs);

/// Predicts several jobs on one fabric: `{"jobs": [scenario, …], "mixing": …}`. Throws InputError.
SharedOutcome predict_shared(Session& session, const ScenarioDocument& jobs);

}  // namespace stepcast
