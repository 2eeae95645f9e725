#pragma once

#include "models/estimate/replica_stages.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// Adds what the layers of a pipeline do in a step, as means over its stages: computation, communication inside
/// layers, waiting for hosts and peers, and FLOPs.
void add_layers(StepBreakdown& step, const ReplicaStages& stages);

}  // namespace stepcast
