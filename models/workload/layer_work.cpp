#include <stdexcept>

#include "models/workload/steps.hpp"

namespace stepcast {
namespace {

using workload::Cut;

/// Most steps that one block has, but for ring attention's chunks: one allocation a list.
void reserve(LayerWork& work, int cp) {
  const std::size_t chunks = 2 * static_cast<std::size_t>(cp);
  work.forward.reserve(30 + chunks);
  work.backward_input.reserve(34 + chunks);
  work.backward_weight.reserve(8);
  work.recompute_norm.reserve(4);
}

void end_block(LayerWork& work, const Cut& cut) {
  work.activations_selective = work.activations - work.freed_attention_core;
  work.activation_input += cut.stream_tensor();
  work.output = cut.stream_tensor();
}

/// A layer of one half.
LayerWork half_work(const Cut& cut, char letter) {
  LayerWork work;
  reserve(work, cut.sharding.cp);
  switch (letter) {
    case 'M':
      workload::add_mamba_half(work, cut);
      workload::add_mamba_backward(work, cut);
      break;
    case 'G':
      workload::add_linear_attention_half(work, cut);
      workload::add_linear_attention_backward(work, cut);
      break;
    case '*':
      workload::add_attention_half(work, cut);
      workload::add_attention_backward(work, cut);
      break;
    case 'E':
      workload::add_moe_half(work, cut);
      workload::add_moe_backward(work, cut);
      break;
    default:
      workload::add_mlp_half(work, cut);
      workload::add_mlp_backward(work, cut);
  }
  end_block(work, cut);
  return work;
}

/// Tokens of one sample that a layer works on: an encoder's of the source, the embedding of both.
double tokens_of(const TransformerShape& shape, LayerRole role, int index, int seq_len) {
  const double target = shape.target_tokens(seq_len);
  if (shape.encoder_layers == 0 || role == LayerRole::output) return target;
  if (role == LayerRole::embedding) return seq_len + target;
  return shape.is_encoder(index) ? seq_len : target;
}

LayerWork output_with_predictions(const Model& model, const Cut& cut) {
  LayerWork work = workload::output_work(cut, model.family);
  if (cut.shape.mtp_layers == 0) return work;
  // Beside compressed attention the blocks of prediction see their window alone (DeepSeek-V4: the last of its ratios).
  const bool windowed = cut.shape.compressed_attention.has_value();
  const Cut predicting(cut.shape, cut.causal, cut.micro_batch, cut.sequence, cut.sharding, windowed);
  const LayerWork block = workload::block_work(predicting, nullptr, cut.shape.predicts_with_experts());
  workload::add_prediction_blocks(work, block, cut);
  return work;
}

/// Of a layer with another's weights: what it computes and keeps remains.
void leave_weights_to_another(LayerWork& work) {
  work.parameters = work.expert_parameters = 0;
  work.frozen_parameters = work.frozen_expert_parameters = 0;
}

}  // namespace

LayerWork workload::block_work(const Cut& cut, const Cut* source, bool moe) {
  LayerWork work;
  reserve(work, cut.sharding.cp);
  workload::add_attention_half(work, cut);
  if (source != nullptr) workload::add_cross_attention(work, cut, *source);
  moe ? workload::add_moe_half(work, cut) : workload::add_mlp_half(work, cut);
  if (cut.shape.per_layer_embedding > 0) {
    workload::add_per_layer_part(work, cut);
    workload::add_per_layer_part_backward(work, cut);
  }
  moe ? workload::add_moe_backward(work, cut) : workload::add_mlp_backward(work, cut);
  if (source != nullptr) workload::add_cross_attention_backward(work, cut, *source);
  workload::add_attention_backward(work, cut);
  end_block(work, cut);
  return work;
}

LayerWork layer_work(const Model& model, LayerRole role, int index, double micro_batch, int seq_len,
                     const LayerSharding& sharding) {
  if (role == LayerRole::cnn) {
    if (model.compact) return workload::compact_work(*model.compact, micro_batch, sharding);
    if (model.recommender) return workload::recommender_work(*model.recommender, index, micro_batch, sharding);
    if (!model.cnn) throw std::logic_error("layer_work: the model has no CNN rows");
    return workload::cnn_work(*model.cnn, index, micro_batch, sharding);
  }
  if (!model.transformer) throw std::logic_error("layer_work: the model is no transformer");
  const TransformerShape& shape = *model.transformer;
  if (shape.diffusion) return workload::diffusion_work(shape, role, index, micro_batch, seq_len, sharding);
  const bool block = role == LayerRole::dense_block || role == LayerRole::moe_block;
  const char half = block ? shape.half(index) : '\0';
  const bool causal = model.family == ModelFamily::decoder && !(block && shape.is_encoder(index));
  const Cut cut(shape, causal, micro_batch, tokens_of(shape, role, index, seq_len), sharding,
                block && shape.is_windowed(index), block && shape.is_global(index),
                block ? shape.keys_of(index) : KeyHolding::own, block ? shape.entry_tokens(index) : 0);
  const Cut source(shape, false, micro_batch, seq_len, sharding);
  const Cut* crossed = block && shape.crosses(index) ? &source : nullptr;
  LayerWork work = role == LayerRole::embedding ? workload::embedding_work(cut)
                   : role == LayerRole::output  ? output_with_predictions(model, cut)
                   : half != '\0'               ? half_work(cut, half)
                                                : workload::block_work(cut, crossed, role == LayerRole::moe_block);
  // The encoder's result waits for the backward pass of every block that attends to it.
  if (role == LayerRole::embedding && shape.encoder_layers > 0) work.activations += source.resident_tensor();
  const bool attends = block && (half == '\0' || half == '*');
  if (sharding.adapter_rank > 0) workload::freeze_under_adapters(work, cut, block, attends);
  if (block && !shape.holds_weights(index)) leave_weights_to_another(work);
  return work;
}

const std::vector<CnnLayer>& expanded_layers(const Model& model) {
  if (!model.cnn) throw std::logic_error("expanded_layers: the model has no CNN rows");
  return model.cnn->layers;
}

int layer_count(const Model& model) {
  if (model.transformer) return model.transformer->layers;
  if (model.recommender) return workload::recommender_layers(*model.recommender);
  return model.compact ? model.compact->layers : static_cast<int>(expanded_layers(model).size());
}

}  // namespace stepcast
