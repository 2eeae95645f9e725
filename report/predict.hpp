#pragma once

#include "models/step_breakdown.hpp"
#include "report/prediction.hpp"
#include "sim/step_graph.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

/// Reads a step's breakdown off its timeline.
StepBreakdown breakdown_of(const Job& job, const StepGraph& graph, const Timeline& timeline);

/// A prediction from a breakdown: rates, MFU, memory, energy, cost, time to train.
Prediction predict(const Job& job, const StepBreakdown& breakdown, Fidelity fidelity, const Catalog& catalog);

/// The closed form's prediction of a scenario.
Prediction predict_analytic(const Scenario& scenario, const Catalog& catalog);

}  // namespace stepcast
