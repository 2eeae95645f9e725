#pragma once

#include "models/estimate/pipeline_stages.hpp"
#include "models/estimate/replica_stages.hpp"
#include "models/estimate/step_account.hpp"

namespace stepcast {

/// When a step's passes end, and when its replicas have met, from its begin.
struct StepEnd {
  Seconds pipeline;  ///< its last backward pass, on idle links
  Seconds replicas;  ///< the last reduction, or gather of parameters
};

/// Of replicas that reduce gradients under (or after) the last backward pass, bucket by bucket: those that hold all
/// parameters, of which ZeRO-1/2 gathers what has been updated, and shards whose pipelines reduce once a step.
StepEnd replicated_step(const ReplicaStages& stages, const PipelineStages& pipeline, StepAccount& account);

/// Of replicas that gather parameters for every micro-batch (ZeRO-3 and all of FSDP): stages of which each works as it
/// does alone, played with what they wait for their gathers.
StepEnd sharded_step(const ReplicaStages& stages, const PipelineStages& pipeline, StepAccount& account);

}  // namespace stepcast
