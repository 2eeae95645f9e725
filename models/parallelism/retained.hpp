#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Activations of one layer for one micro-batch: what waits for the backward pass, and what recomputation brings back
/// while the backward pass is in this layer.
struct Retained {
  Bytes waiting, recomputed;
};

/// By the strategy's recomputation. Only blocks recompute, and not where they do not repeat (LayerCost::repeats).
Retained retained(const LayerCost& layer, const StrategySpec& strategy);

/// Whether blocks run forward again for their backward pass, not parts of them alone.
bool repeats_blocks(const StrategySpec& strategy);

/// Whether a layer is a transformer block.
bool is_block(LayerRole role);

}  // namespace stepcast
