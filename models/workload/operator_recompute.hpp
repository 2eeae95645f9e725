#pragma once

#include <vector>

#include "models/workload/operators.hpp"

namespace stepcast {

// Recomputation by operator, as torchtitan's selective checkpointing (selective_ac_option "op"): a block keeps its
// input, every second matrix product's output, the attention core's, and what collectives have scattered or exchanged,
// and repeats the rest, experts' grouped products among it. Products that this model merges (Q, K and V; two gates) are
// several there, so half of each product stands for every second one.

/// Bytes that a block keeps for one micro-batch.
Bytes activations_kept_per_operator(const LayerWork& work, const LayerSharding& sharding);
/// Forward steps that the backward pass repeats.
std::vector<LayerStep> steps_repeated_per_operator(const LayerWork& work);

}  // namespace stepcast
