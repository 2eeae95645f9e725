#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Local steps of a federated client between two averages: passes over its own samples in batches of its own.
double federated_steps(const Scenario& scenario);

/// Steps until all workers hold one model again, which a checkpoint saves: between two averages of local steps and of
/// federated rounds every worker has a model of its own. 1 where every step ends with it, or servers hold it.
double steps_of_round(const Scenario& scenario);

}  // namespace stepcast
