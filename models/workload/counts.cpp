#include <algorithm>
#include <map>
#include <tuple>

#include "models/workload/hyper_connections.hpp"
#include "models/workload/weight_matrices.hpp"

namespace stepcast {
namespace {

/// FLOPs of one forward pass over a sequence, by part, without sharding: the products' 2·m·n·k.
struct ForwardFlops {
  double blocks = 0, output = 0;
  double attention = 0;  ///< counted whole, half of which a causal mask hides
  double seen = 0;       ///< attention that no mask hides: an encoder's, and of a decoder over its result
};

/// Multiply-adds of a mixture of experts for one token.
double expert_products(const TransformerShape& shape) {
  const double products = workload::gates(shape) + 1, hidden = shape.hidden;
  const double width = shape.moe_ffn_hidden > 0 ? shape.moe_ffn_hidden : shape.ffn_hidden;
  const double seen = shape.moe_latent > 0 ? shape.moe_latent : hidden;
  return products * (shape.top_k * width * seen + shape.shared_expert_ffn * hidden) + hidden * shape.experts +
         2 * hidden * shape.moe_latent;
}

/// Multiply-adds of the MLP of one block for one token.
double mlp_products(const TransformerShape& shape, bool moe, KeyHolding keys = KeyHolding::own) {
  const double dense = (workload::gates(shape) + 1) * shape.hidden;
  return moe ? expert_products(shape) : dense * shape.mlp_width(keys);
}

/// Of those of usual attention, the products of a query and of what its tokens give on, and of keys and values.
double query_products(const TransformerShape& shape, const TransformerShape::Heads& heads) {
  return static_cast<double>(shape.hidden) * heads.queries * (heads.key_size + heads.value_size);
}
double key_products(const TransformerShape& shape, const TransformerShape::Heads& heads) {
  if (heads.keys == KeyHolding::borrowed) return 0;
  return static_cast<double>(shape.hidden) * heads.kv *
         (heads.key_size + (heads.keys_are_values ? 0 : heads.value_size));
}

/// Multiply-adds of the attention projections of one block for one token; `ratio`: of compressed attention.
double attention_products(const TransformerShape& shape, const TransformerShape::Heads& sizes, int ratio = 0) {
  if (const auto& compressed = shape.compressed_attention)
    return workload::compressed_products(shape, ratio) +
           (compressed->indexes(ratio) ? workload::indexer_products(shape) : 0);
  const double hidden = shape.hidden, heads = sizes.queries;
  const double query = heads * sizes.key_size, attended = heads * sizes.value_size;
  const double gate = shape.attention_output_gate ? hidden * attended : 0;
  if (!shape.is_latent()) return query_products(shape, sizes) + key_products(shape, sizes) + gate;
  const double queries = shape.q_lora_rank > 0 ? shape.q_lora_rank * (hidden + query) : hidden * query;
  const double keys = hidden * (shape.kv_lora_rank + shape.qk_rope_head_dim) +
                      shape.kv_lora_rank * heads * (shape.qk_nope_head_dim + shape.v_head_dim);
  const double index = shape.sparse_attention ? workload::indexer_products(shape) : 0;
  return queries + keys + hidden * attended + index;
}

/// Share of a sequence's scores (half of them under a mask counted whole) that a layer's window leaves.
double window_share(const TransformerShape& shape, int layer, double sequence) {
  const bool picks = shape.sparse_attention.has_value();
  const double window = picks ? shape.sparse_attention->tokens : shape.window;
  if (!(picks || shape.is_windowed(layer)) || window >= sequence) return 1;
  if (shape.window_kind == WindowKind::chunked) return window / sequence;
  return (2 * window - window * window / sequence) / sequence;
}

/// FLOPs of one query's scores with entries of compressed attention, of attention and of the indexer, as if a mask hid
/// half of them.
double entry_flops(const CompressedAttentionShape& compressed, int ratio, double span, double sizes) {
  const double index = compressed.indexes(ratio) ? 1.0 * compressed.indexer_heads * compressed.indexer_head_dim : 0;
  return 2 * 2 *
         (compressed.entries_seen(ratio, span, true) * sizes + compressed.entries_before(ratio, span, true) * index);
}

/// Of hyper-connections' weights in blocks of prediction, and of the weighted sums in front of every output layer.
double predicting_streams(const TransformerShape& shape, double tokens) {
  const double head = static_cast<double>(shape.residual_streams) * shape.residual_streams * shape.hidden;
  return 2 * tokens * (shape.mtp_layers * 2 * workload::stream_mapping_products(shape) + (1 + shape.mtp_layers) * head);
}

/// `document`: mean tokens of the documents that are packed into a sequence, which attention does not leave; or all.
ForwardFlops forward_flops(const TransformerShape& shape, double sequence, double document) {
  const auto widths = [&](const TransformerShape::Heads& heads) {
    return static_cast<double>(heads.queries) * (heads.key_size + heads.value_size);
  };
  const double target = shape.target_tokens(sequence);
  const double predicted = target * shape.predicted_share;
  ForwardFlops flops;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const char half = shape.half(layer);
    const bool attends = half == '\0' || half == '*', encodes = shape.is_encoder(layer);
    const double tokens = encodes ? sequence : target + shape.joint_tokens(), span = std::min(tokens, document);
    const TransformerShape::Heads heads = shape.heads_of(shape.is_global(layer), shape.keys_of(layer));
    const double sizes = widths(heads);
    const int ratio = shape.entry_tokens(layer);
    if (attends) flops.blocks += 2 * tokens * attention_products(shape, heads, ratio);
    if (shape.residual_streams > 1)
      flops.blocks += 2 * tokens * (half == '\0' ? 2 : 1) * workload::stream_mapping_products(shape);
    if (attends)
      (encodes ? flops.seen : flops.attention) += 2 * tokens * span * sizes * window_share(shape, layer, span);
    if (ratio > 0) flops.attention += tokens * entry_flops(*shape.compressed_attention, ratio, span, sizes);
    if (attends && shape.sparse_attention)
      flops.attention += 2 * tokens * span * shape.sparse_attention->indexer_heads *
                         static_cast<double>(shape.sparse_attention->indexer_head_dim) /
                         shape.sparse_attention->layers_per_indexer;
    if (shape.crosses(layer)) {
      const double source = shape.diffusion ? shape.context_tokens() : sequence;
      flops.blocks += 2 * (target * query_products(shape, heads) + source * key_products(shape, heads));
      flops.seen += 2 * target * source * sizes;
    }
    if (half == 'M') flops.blocks += 2 * tokens * workload::mamba_multiply_adds(shape);
    if (half == 'G') flops.blocks += 2 * tokens * workload::linear_attention_multiply_adds(shape);
    if (half == '\0' || half == '-' || half == 'E')
      flops.blocks += 2 * tokens * mlp_products(shape, shape.is_moe(layer), heads.keys);
  }
  flops.blocks += 2 * target * workload::per_layer_multiply_adds(shape);
  const double join = (1.0 + shape.residual_streams) * shape.hidden * shape.hidden;
  const TransformerShape::Heads predicting = shape.heads_of(false);
  flops.blocks += shape.mtp_layers * 2 * sequence *
                  (attention_products(shape, predicting) + mlp_products(shape, shape.predicts_with_experts()) + join);
  if (shape.residual_streams > 1) flops.blocks += predicting_streams(shape, target);
  const double predicting_span = std::min(target, document);
  const double seen = shape.compressed_attention ? window_share(shape, 0, predicting_span) : 1;
  flops.attention += shape.mtp_layers * 2 * target * predicting_span * seen * widths(predicting);
  const double hidden = shape.hidden, width = shape.embedding_width();
  flops.output = (1 + shape.mtp_layers) * 2 * predicted * width * shape.vocab;
  if (shape.diffusion) flops.output = 2 * target * hidden * shape.diffusion->patch_elements;
  // BERT's masked-token transform, and its pooler on one token.
  if (shape.pooler_and_heads)
    flops.output += 2 * (predicted * width + hidden) * hidden;
  else if (shape.projects_embeddings())
    flops.output += 2 * predicted * hidden * width;
  const double embedded = shape.encoder_layers > 0 ? sequence + target : target;
  if (shape.projects_embeddings()) flops.blocks += 2 * embedded * width * hidden;
  return flops;
}

/// Trained on a single device: everything, or adapters of a rank above 0.
LayerSharding trained_whole(int adapter_rank, AdapterTargets targets) {
  LayerSharding whole;
  whole.adapter_rank = adapter_rank;
  whole.adapter_targets = targets;
  return whole;
}

/// Sum over a transformer's layers of what `of(role, work)` gives.
template <class Of>
double over_layers(const Model& model, const LayerSharding& whole, Of of) {
  const TransformerShape& shape = *model.transformer;
  const auto count = [&](LayerRole role, int layer = 0) {
    return of(role, layer_work(model, role, layer, 1, 1, whole));
  };
  double total = count(LayerRole::embedding) + count(LayerRole::output);
  // By experts, half, cross attention, streams, sizes of heads, own weights, whose keys, and entries.
  std::map<std::tuple<bool, char, bool, bool, bool, bool, KeyHolding, int>, double> of_kind;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const auto [known, fresh] = of_kind.try_emplace(
        {shape.is_moe(layer), shape.half(layer), shape.crosses(layer), shape.has_two_streams(layer),
         shape.is_global(layer), shape.holds_weights(layer), shape.keys_of(layer), shape.entry_tokens(layer)},
        0);
    if (fresh) known->second = count(shape.is_moe(layer) ? LayerRole::moe_block : LayerRole::dense_block, layer);
    total += known->second;
  }
  return total;
}

/// Trained parameters, with `experts` of every mixture counted.
double transformer_parameters(const Model& model, double experts, const LayerSharding& whole = {}) {
  const int all = std::max(1, model.transformer->experts);
  return over_layers(model, whole, [&](LayerRole, const LayerWork& work) {
    return work.parameters + work.expert_parameters * experts / all;
  });
}

double cnn_total(const Model& model) {
  double total = 0;
  for (const CnnLayer& row : expanded_layers(model)) total += workload::cnn_parameters(row);
  return total;
}

}  // namespace

double parameter_count(const Model& model) {
  if (model.compact) return model.compact->parameters_M * 1e6;
  if (model.recommender)
    return workload::recommender_dense_parameters(*model.recommender) + model.recommender->table_parameters();
  return model.transformer ? transformer_parameters(model, model.transformer->experts) : cnn_total(model);
}

double adapter_parameter_count(const Model& model, int rank, AdapterTargets targets) {
  return transformer_parameters(model, model.transformer->experts, trained_whole(rank, targets));
}

double hidden_parameter_count(const Model& model, int adapter_rank, AdapterTargets targets) {
  return over_layers(model, trained_whole(adapter_rank, targets), [](LayerRole role, const LayerWork& work) {
    double sum = 0;
    for (const auto& matrices : {hidden_matrices(work, role), expert_matrices(work)})
      for (const WeightMatrix& matrix : matrices) sum += matrix.rows * matrix.columns * matrix.count;
    return sum;
  });
}

double active_parameter_count(const Model& model) {
  return model.transformer ? transformer_parameters(model, model.transformer->top_k) : parameter_count(model);
}

Flops model_flops_per_sample(const Model& model, int seq_len, ModelFlopsOptions options) {
  if (model.transformer) {
    const double document =
        options.document_len > 0 ? options.document_len : seq_len + model.transformer->joint_tokens();
    const ForwardFlops flops = forward_flops(*model.transformer, seq_len, document);
    const bool half = options.causal_halved && model.family == ModelFamily::decoder;
    const double products = flops.blocks + (options.output_layer ? flops.output : 0);
    return Flops((options.frozen ? 2 : 3) * products + 3 * (flops.seen + flops.attention * (half ? 0.5 : 1.0)));
  }
  double forward = 0;
  if (model.compact) {
    forward = workload::compact_forward_flops(*model.compact);
  } else if (model.recommender) {
    forward = workload::recommender_forward_flops(*model.recommender);
  } else {
    for (const CnnLayer& row : expanded_layers(model)) forward += workload::cnn_forward_flops(row);
  }
  return Flops(3 * forward);
}

Flops sc21_flops_per_sample(const TransformerShape& shape, int seq_len) {
  const double s = seq_len, l = shape.layers, h = shape.hidden, v = shape.vocab;
  return Flops(96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)));
}

}  // namespace stepcast
