#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// What a layer's forward pass and a layer's backward pass of another micro-batch do interleaved, so that the experts'
/// all_to_alls of each run beside the other's computation:
///
///   communication   combine, backward | dispatch           | dispatch, backward          | combine
///   computation     attention         | experts, backward  | their weights; experts      | attention, backward
///
/// An all_to_all of duration d beside work W of a device that it slows down by `slowdown` costs max(slowdown·d, d − W).
/// Layers without two such exchanges in either pass follow each other. (Megatron-LM,
/// megatron/core/pipeline_parallel/combined_1f1b.py; DeepSeek-V3, arXiv 2412.19437, figure 4.)
Segment merged_passes(const LayerCost& forward, const LayerCost& backward, double slowdown);

}  // namespace stepcast
