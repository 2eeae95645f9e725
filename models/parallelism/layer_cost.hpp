#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// What a layer costs for one micro-batch on a device of the job, of which device, interconnect and groups are known.
/// `index` as for layer_work; `repeats`: what the strategy recomputes is recomputed here, too.
LayerCost cost_layer(const Job& job, LayerRole role, int index, bool repeats = true);

}  // namespace stepcast
