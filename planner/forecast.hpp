#pragma once

#include "planner/plan.hpp"

namespace stepcast {

/// Forecasts scenarios as the options say: simulated by a worker, or in closed form. In the order of the scenarios;
/// ends early with fewer when the caller asks to stop. `file`: the question's, which faults are of. Throws InputError
/// and EnvironmentError.
std::vector<Prediction> forecasts_of(const std::vector<Json>& scenarios, const std::string& file,
                                     const Catalog& catalog, const PlanOptions& options, long evaluated);

}  // namespace stepcast
