#include "models/memory/working_set.hpp"

#include <algorithm>

#include "models/parallelism/fused_kernels.hpp"
#include "models/parallelism/synchronization.hpp"

namespace stepcast {

namespace {

/// Whether each weight gradient is computed beside the gradients and added to them. Fused accumulation writes into
/// them; sharded parameters have their unit's gradients among the buffers.
bool adds_weight_gradients(const Scenario& scenario) {
  const FrameworkProfile& framework = *scenario.framework;
  if (framework.fused_gradient_accumulation || synchronization_plan(scenario).sharded_parameters) return false;
  return framework.main_gradients_fp32 || framework.model_gradients_kept || scenario.degrees.micro_batches > 1;
}

/// The backward pass through one block.
Bytes in_block(const Job& job, const StageLayers& layers) {
  const double weight = adds_weight_gradients(*job.scenario) ? layers.largest_weight : 0;
  return layers.recomputed + layers.gradients + Bytes(weight * parameter_bytes(*job.scenario));
}

/// Whether the loss is fused with the output layer and goes through the logits in pieces. That is what fused losses of
/// PyTorch models are (Liger's FusedLinearCrossEntropy); Transformer Engine's, and what XLA and torch.compile make,
/// work on all logits.
bool in_pieces(const Scenario& scenario) {
  const FrameworkProfile& framework = *scenario.framework;
  return scenario.spec.strategy.fused_loss.value_or(false) && !framework.fused_loss &&
         !framework.fused_gradient_accumulation;
}

/// The loss; and then the output layer's products, whose weight gradient even fused accumulation gives a place
/// (Megatron-LM core/tensor_parallel/layers.py allocates one to tell autograd that there is a gradient).
Bytes at_output(const Job& job, const StageLayers& layers) {
  const Scenario& scenario = *job.scenario;
  if (!layers.has_output || !scenario.model->is_transformer()) return Bytes(0);
  const TransformerShape& shape = *scenario.model->transformer;
  const Degrees& degrees = scenario.degrees;
  const double tokens = shape.target_tokens(scenario.seq_len) / degrees.cp;
  const double rows = static_cast<double>(degrees.micro_batch) * tokens * shape.predicted_share;
  const double element = parameter_bytes(scenario);
  const bool placed = scenario.framework->fused_gradient_accumulation || adds_weight_gradients(scenario);
  const Bytes weight(placed ? layers.output_weight * element : 0);
  if (in_pieces(scenario)) return Bytes(rows * shape.hidden * element) + weight;
  const Bytes loss(rows * shape.vocab / degrees.tp * loss_bytes_per_logit(scenario));
  return std::max(loss, layers.output_gradients + weight);
}

/// The end of a backward pass: the embedding's gradient is as large as its table and is added to the accumulated one.
/// The micro-batch's activations are gone.
Bytes in_embedding(const Job& job, const StageLayers& layers) {
  const Scenario& scenario = *job.scenario;
  const bool fused = scenario.framework->fused_gradient_accumulation;
  if (!fused && !adds_weight_gradients(scenario)) return Bytes(0);
  return Bytes(layers.embedding * parameter_bytes(scenario)) - layers.oldest;
}

}  // namespace

double loss_bytes_per_logit(const Scenario& scenario) {
  if (in_pieces(scenario)) return 0;
  return fused_kernels(scenario).loss ? parameter_bytes(scenario) : scenario.framework->loss_bytes_per_logit;
}

Bytes working_set(const Job& job, const StageLayers& layers) {
  return std::max({in_block(job, layers), at_output(job, layers), in_embedding(job, layers)});
}

}  // namespace stepcast
