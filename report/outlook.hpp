#pragma once

#include "models/parallelism/job.hpp"
#include "models/power/facility.hpp"
#include "report/prediction.hpp"
#include "report/run_outlook.hpp"

namespace stepcast {

/// Completes a prediction of a step by what surrounds it: input, checkpoints, goodput (seeded Monte Carlo), phases,
/// racks and network, carbon; power, energy and cost of the network are added to the prediction's own, and time to
/// train and run cost are those of the whole run.
void add_outlook(Prediction& prediction, const Job& job, const Catalog& catalog);

/// The figures of the run alone, for sweeps: what the network draws and costs (`network`: the cluster's), time to train
/// and run cost. Goodput is the expected one (expected_shares) and simulated only where there is no formula.
void add_run_figures(Prediction& prediction, const Job& job, const Catalog& catalog, const FabricBill& network);

}  // namespace stepcast
