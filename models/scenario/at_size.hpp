#pragma once

#include <optional>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Takes a stated degree of data parallelism out of a scenario's JSON: it follows from devices and other degrees, and
/// does so anew where one of those is changed.
void free_data_parallel(Json& scenario);

/// The scenario on so many nodes, with a batch of so many samples; the work that it states stays that of its own batch.
Json at_size(Json scenario, int nodes, long global_batch);

/// The batch on so many nodes that keeps the samples of a node; none where it is not whole.
std::optional<long> batch_at_size(const ScenarioSpec& scenario, int nodes);

}  // namespace stepcast
