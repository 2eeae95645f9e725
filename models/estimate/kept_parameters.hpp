#pragma once

#include "models/estimate/pipeline_stages.hpp"
#include "models/estimate/replica_stages.hpp"
#include "models/estimate/step_account.hpp"

namespace stepcast {

/// When a pipeline's passes end where each gathers the parameters of its chunk unless a backward pass has left them
/// whole (SynchronizationPlan::kept_after_backward). Adds what the gathers take and expose.
Seconds end_of_gathering_passes(const ReplicaStages& stages, const PipelineStages& pipeline, StepAccount& account);

}  // namespace stepcast
