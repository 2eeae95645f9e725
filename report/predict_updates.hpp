#pragma once

#include <functional>

#include "report/predict.hpp"

namespace stepcast {

/// A step of a job whose devices meet by collectives: closed form or simulation.
using StepOfJob = std::function<StepBreakdown(const Job&)>;

/// The prediction of a scenario whose workers meet otherwise (exchanges_apart): one node's step as `step_of_job` gives
/// it, the updates by simulation of the workers. Servers on nodes of their own add to power and cost.
Prediction predict_updates(const Scenario& scenario, const Catalog& catalog, Fidelity fidelity,
                           const StepOfJob& step_of_job, MemoryAdvice advice = MemoryAdvice::when_it_does_not_fit,
                           Extent extent = Extent::run);

}  // namespace stepcast
