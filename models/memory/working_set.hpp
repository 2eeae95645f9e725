#pragma once

#include "models/memory/stage_layers.hpp"

namespace stepcast {

/// Most bytes that a stage has in use beside what it keeps: the largest of what the backward pass of a block, of the
/// output layer, of the loss and of the embedding needs. Formulas and sources in docs/models/memory.md.
Bytes working_set(const Job& job, const StageLayers& layers);

/// Bytes that the loss holds for each logit. Transformer Engine's fused one overwrites the logits with their gradient;
/// one that is fused with the output layer holds none.
double loss_bytes_per_logit(const Scenario& scenario);

}  // namespace stepcast
