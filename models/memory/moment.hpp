#pragma once

#include "models/memory/stage_layers.hpp"
#include "models/parallelism/synchronization.hpp"

namespace stepcast {

/// What a stage holds at one moment of a step, beside its parameters, optimizer states and buffers.
struct Moment {
  Bytes gradients;    ///< of parameters
  Bytes activations;  ///< that wait for their backward pass
  Bytes casts;        ///< 16-bit copies of weights that automatic mixed precision keeps
  Bytes workspace;    ///< what the pass at work has in use
  [[nodiscard]] Bytes total() const { return gradients + activations + casts + workspace; }
};

/// The moment at which a stage holds most: at the loss, in the backward pass of the output layer, of the first or the
/// last block, or of the embedding. `gradients`: all of the stage's, once they exist. Formulas and sources in
/// docs/models/memory.md.
Moment fullest_moment(const Job& job, const SynchronizationPlan& plan, const StageLayers& layers, Bytes gradients);

/// Whether the gradients of one unit at a time are held apart, as they are made, among the buffers.
bool has_unit_gradients(const SynchronizationPlan& plan);

/// Bytes that the loss holds for each logit. Transformer Engine's fused one overwrites the logits with their gradient;
/// one that is fused with the output layer holds none.
double loss_bytes_per_logit(const Scenario& scenario);

}  // namespace stepcast
