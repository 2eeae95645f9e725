#include "models/memory/moment.hpp"

#include <algorithm>
#include <array>

#include "models/memory/memory.hpp"
#include "models/parallelism/fused_kernels.hpp"
#include "models/parallelism/retained.hpp"

namespace stepcast {

namespace {

/// Whether a step's first backward pass finds no gradients, and is its only one.
bool begins_without_gradients(const Scenario& scenario) {
  return scenario.framework->frees_gradients && scenario.degrees.micro_batches == 1;
}

/// Whether each weight gradient is computed beside the gradients and added to them. Fused accumulation writes into
/// them; FSDP has a unit's gradients among the buffers.
bool adds_weight_gradients(const Scenario& scenario, const SynchronizationPlan& plan) {
  const FrameworkProfile& framework = *scenario.framework;
  if (framework.fused_gradient_accumulation || has_unit_gradients(plan)) return false;
  return framework.main_gradients_fp32 || framework.model_gradients_kept || scenario.degrees.micro_batches > 1;
}

/// Bytes of a weight's gradient on its way to the accumulated one: in the format of its product, and with automatic
/// mixed precision widened again. `adds`: of adds_weight_gradients.
double gradient_on_its_way(const Scenario& scenario, bool adds) {
  const double product = parameter_bytes(scenario);
  const double added = adds ? product : 0;
  if (!automatic_mixed_precision(scenario)) return added;
  return product + 2 * added;
}

/// The backward pass through one block.
Bytes in_block(const StageLayers& layers, double gradient_on_its_way) {
  return layers.recomputed + layers.gradients + Bytes(layers.largest_weight * gradient_on_its_way);
}

/// Whether the loss is fused with the output layer and goes through the logits in pieces. That is what fused losses of
/// PyTorch models are (Liger's FusedLinearCrossEntropy); Transformer Engine's, and what XLA and torch.compile make,
/// work on all logits.
bool in_pieces(const Scenario& scenario) {
  const FrameworkProfile& framework = *scenario.framework;
  return scenario.spec.strategy.fused_loss.value_or(false) && !framework.fused_loss &&
         !framework.fused_gradient_accumulation;
}

bool has_logits(const Job& job, const StageLayers& layers) {
  return layers.has_output && job.scenario->model->is_transformer();
}

/// Positions of a micro-batch that are predicted, on one device.
double predicted_rows(const Scenario& scenario) {
  const TransformerShape& shape = *scenario.model->transformer;
  const double tokens = shape.target_tokens(scenario.seq_len) / scenario.degrees.cp;
  return static_cast<double>(scenario.degrees.micro_batch) * tokens * shape.predicted_share;
}

double logits(const Scenario& scenario) {
  return predicted_rows(scenario) * scenario.model->transformer->vocab / scenario.degrees.tp;
}

/// The loss; and then the output layer's products, whose weight gradient even fused accumulation gives a place
/// (Megatron-LM core/tensor_parallel/layers.py allocates one to tell autograd that there is a gradient).
Bytes at_output(const Job& job, const StageLayers& layers, double gradient_on_its_way) {
  if (!has_logits(job, layers)) return Bytes(0);
  const Scenario& scenario = *job.scenario;
  const double element = parameter_bytes(scenario);
  const double place = scenario.framework->fused_gradient_accumulation ? element : gradient_on_its_way;
  const Bytes weight(layers.output_weight * place);
  if (in_pieces(scenario))
    return Bytes(predicted_rows(scenario) * scenario.model->transformer->embedding_width() * element) + weight;
  return std::max(Bytes(logits(scenario) * loss_bytes_per_logit(scenario)), layers.output_gradients + weight);
}

/// The forward pass of an eager loss: an fp32 gradient less than its backward pass, but the logits are still there.
Bytes in_forward_loss(const Job& job, const StageLayers& layers) {
  if (!has_logits(job, layers)) return Bytes(0);
  const double held = loss_bytes_per_logit(*job.scenario) - sizeof(float) + parameter_bytes(*job.scenario);
  return Bytes(logits(*job.scenario) * std::max(0.0, held));
}

/// The end of a backward pass: the embedding's gradient is as large as its table and is added to the accumulated one,
/// or to that of the output layer where both are one table.
Bytes in_embedding(const Job& job, const StageLayers& layers, bool adds) {
  const Scenario& scenario = *job.scenario;
  const bool tied =
      layers.has_output && scenario.model->is_transformer() && scenario.model->transformer->tied_embeddings;
  const bool added = scenario.framework->fused_gradient_accumulation || adds;
  if (!added && !tied) return Bytes(0);
  const bool wide = automatic_mixed_precision(scenario);
  return Bytes(layers.embedding * (wide ? sizeof(float) : parameter_bytes(scenario)));
}

/// Whether layers keep what they cast of their weights for the backward pass (PyTorch's autocast). What torch.compile
/// makes casts them anew.
bool keeps_cast_weights(const Scenario& scenario) {
  return automatic_mixed_precision(scenario) && !scenario.spec.strategy.torch_compile;
}

/// 16-bit copies of trained weights (frozen ones are held in 16 bit): of all in the forward pass, of the output layer
/// and, where they do not run forward again, of blocks in their backward pass.
struct Casts {
  Bytes output, blocks, kept_blocks;
};
Casts casts(const Job& job, const StageLayers& layers) {
  const Scenario& scenario = *job.scenario;
  if (!keeps_cast_weights(scenario)) return {};
  const double element = parameter_bytes(scenario);
  const Bytes blocks(layers.block_weights * element);
  return {Bytes(layers.output_weight * element), blocks, repeats_blocks(scenario.spec.strategy) ? Bytes(0) : blocks};
}

}  // namespace

bool has_unit_gradients(const SynchronizationPlan& plan) {
  return plan.sharded_parameters || (plan.wrapped_layers && plan.accumulated <= 1);
}

double loss_bytes_per_logit(const Scenario& scenario) {
  if (in_pieces(scenario)) return 0;
  if (fused_kernels(scenario).loss) return parameter_bytes(scenario);
  const FrameworkProfile& framework = *scenario.framework;
  const bool shared = scenario.degrees.tp > 1 && framework.parallel_loss_bytes_per_logit > 0;
  return shared ? framework.parallel_loss_bytes_per_logit : framework.loss_bytes_per_logit;
}

Moment fullest_moment(const Job& job, const SynchronizationPlan& plan, const StageLayers& layers, Bytes gradients) {
  const bool adds = adds_weight_gradients(*job.scenario, plan);
  const double on_its_way = gradient_on_its_way(*job.scenario, adds);
  const Bytes block = in_block(layers, on_its_way);
  const bool none_yet = begins_without_gradients(*job.scenario);
  const Bytes at_loss = none_yet ? Bytes(0) : gradients;
  const Bytes after_output = none_yet ? Bytes(layers.output_weight * state_bytes(*job.scenario).gradient) : gradients;
  const Bytes last_waiting = none_yet ? Bytes(0) : layers.kept;
  const Casts copies = casts(job, layers);
  const std::array moments{
      Moment{at_loss, layers.kept, copies.output + copies.blocks, in_forward_loss(job, layers)},
      Moment{at_loss, layers.kept, copies.output + copies.kept_blocks, at_output(job, layers, on_its_way)},
      Moment{std::min(after_output, gradients), layers.kept, copies.kept_blocks, block},
      Moment{gradients, last_waiting, Bytes(0), block},
      Moment{gradients, none_yet ? Bytes(0) : layers.kept - layers.oldest, Bytes(0), in_embedding(job, layers, adds)}};
  return *std::max_element(moments.begin(), moments.end(),
                           [](const Moment& a, const Moment& b) { return a.total() < b.total(); });
}

}  // namespace stepcast
