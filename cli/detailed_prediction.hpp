#pragma once

#include <filesystem>
#include <optional>

#include "cli/scenario_document.hpp"
#include "cli/session.hpp"
#include "report/prediction.hpp"
#include "report/step_detail.hpp"

namespace stepcast {

/// A prediction with what a report shows of its step beyond it.
struct DetailedPrediction {
  Prediction prediction;
  StepDetail detail;
};

/// Predicts as predict_scenario does, with the step's critical path and, of a simulated one, its timeline.
DetailedPrediction predict_in_detail(Session& session, const ScenarioDocument& scenario,
                                     const std::optional<std::filesystem::path>& trace = std::nullopt);

}  // namespace stepcast
