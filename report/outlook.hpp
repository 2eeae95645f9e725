#pragma once

#include "models/parallelism/job.hpp"
#include "report/prediction.hpp"
#include "report/run_outlook.hpp"

namespace stepcast {

/// Completes a prediction of a step by what surrounds it: input, checkpoints, goodput (seeded Monte Carlo), phases,
/// racks and network, carbon; power, energy and cost of the network are added to the prediction's own, and time to
/// train and run cost are those of the whole run.
void add_outlook(Prediction& prediction, const Job& job, const Catalog& catalog);

}  // namespace stepcast
