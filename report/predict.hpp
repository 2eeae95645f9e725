#pragma once

#include "models/step_breakdown.hpp"
#include "report/power_over_time.hpp"
#include "report/prediction.hpp"
#include "sim/step_graph.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

/// Reads a step's breakdown off its timeline.
StepBreakdown breakdown_of(const Job& job, const StepGraph& graph, const Timeline& timeline);

/// Power of the mean device over a simulated step.
PowerOverTime power_over_time(const Job& job, const StepGraph& graph, const Timeline& timeline);

/// Whether a prediction that does not fit memory says what would make it fit: tens of lowerings.
enum class MemoryAdvice { none, when_it_does_not_fit };

/// What is predicted: the step alone, the run's figures too (add_run_figures), or everything around it (add_outlook).
enum class Extent { step, run_figures, run };

/// A prediction from a breakdown: rates, MFU, memory, energy, cost, time to train. Throws std::logic_error when a
/// figure comes out negative or not finite, InputError when checkpoints cannot follow each other as often as stated.
/// `updates`: of workers that meet otherwise than by collectives. Learners that actors feed wait for them here.
Prediction predict(const Job& job, const StepBreakdown& breakdown, Fidelity fidelity, const Catalog& catalog,
                   MemoryAdvice advice = MemoryAdvice::when_it_does_not_fit, Extent extent = Extent::run,
                   std::optional<UpdateOutcome> updates = std::nullopt);

/// The closed form's prediction of a scenario.
Prediction predict_analytic(const Scenario& scenario, const Catalog& catalog,
                            MemoryAdvice advice = MemoryAdvice::when_it_does_not_fit, Extent extent = Extent::run);

}  // namespace stepcast
