#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// What a layer costs for one micro-batch on a device of the job, of which device, interconnect and groups are known.
/// `index` as for layer_work; `repeats`: what the strategy recomputes is recomputed here, too.
LayerCost cost_layer(const Job& job, LayerRole role, int index, bool repeats = true);

/// Ranks that share what mixed precision does to a layer's parameters in every micro-batch
/// (FrameworkProfile::micro_batch_bytes_per_parameter): those of a shard where parameters are sharded, else 1.
int parameter_shards(const Scenario& scenario);

}  // namespace stepcast
