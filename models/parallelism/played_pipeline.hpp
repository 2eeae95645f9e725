#pragma once

#include <vector>

#include "models/parallelism/pipeline_time.hpp"

namespace stepcast {

/// Time from the first forward to the last backward pass of 1f1b, in the order of `pipeline_order`, with stages as
/// unequal as they are: each pass starts when its rank is free and its neighbour's pass and message have arrived.
/// `split`: weight gradients are passes of their own that lag behind (ZB-H1).
///
/// Plays until the last rounds through the pipeline moved all ranks on alike, leaves out as many as repeat them, and
/// plays the drain: as exact as every pass one by one (docs/models/estimate.md).
Seconds played_pipeline(const std::vector<StageTime>& stages, long micro_batches, bool split);

}  // namespace stepcast
