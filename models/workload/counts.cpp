#include <algorithm>

#include "models/workload/steps.hpp"

namespace stepcast {
namespace {

/// FLOPs of one forward pass over a sequence, by part, without sharding: the products' 2·m·n·k.
struct ForwardFlops {
  double blocks = 0, attention = 0, output = 0;
};

/// Multiply-adds of the MLP of one block for one token.
double mlp_products(const TransformerShape& shape, int layer) {
  const double dense = (workload::gates(shape) + 1) * shape.hidden;
  if (!shape.is_moe(layer)) return dense * shape.ffn_hidden;
  const double expert = shape.moe_ffn_hidden > 0 ? shape.moe_ffn_hidden : shape.ffn_hidden;
  return dense * (shape.top_k * expert + shape.shared_expert_ffn) + static_cast<double>(shape.hidden) * shape.experts;
}

/// Multiply-adds of the attention projections of one block for one token.
double attention_products(const TransformerShape& shape) {
  const double hidden = shape.hidden, heads = shape.heads;
  const double query = heads * shape.key_size(), attended = heads * shape.value_size();
  if (!shape.is_latent()) return hidden * (query + shape.kv() * (shape.key_size() + shape.value_size()) + attended);
  const double queries = shape.q_lora_rank > 0 ? shape.q_lora_rank * (hidden + query) : hidden * query;
  const double keys = hidden * (shape.kv_lora_rank + shape.qk_rope_head_dim) +
                      shape.kv_lora_rank * heads * (shape.qk_nope_head_dim + shape.v_head_dim);
  return queries + keys + hidden * attended;
}

/// Share of a sequence's scores (half of them under a mask counted whole) that a layer's window leaves.
double window_share(const TransformerShape& shape, int layer, double sequence) {
  const double window = shape.window;
  if (!shape.is_windowed(layer) || window >= sequence) return 1;
  if (shape.window_kind == WindowKind::chunked) return window / sequence;
  return (2 * window - window * window / sequence) / sequence;
}

ForwardFlops forward_flops(const TransformerShape& shape, double sequence) {
  const double sizes = static_cast<double>(shape.heads) * (shape.key_size() + shape.value_size());
  const double scores = 2 * sequence * sequence * sizes;
  const double predicted = sequence * shape.predicted_share;
  ForwardFlops flops;
  for (int layer = 0; layer < shape.layers; ++layer) {
    flops.blocks += 2 * sequence * (attention_products(shape) + mlp_products(shape, layer));
    flops.attention += scores * window_share(shape, layer, sequence);
  }
  const double join = 2.0 * shape.hidden * shape.hidden;
  flops.blocks +=
      shape.mtp_layers * 2 * sequence * (attention_products(shape) + mlp_products(shape, shape.layers - 1) + join);
  flops.attention += shape.mtp_layers * scores;
  flops.output = (1 + shape.mtp_layers) * 2 * predicted * shape.hidden * shape.vocab;
  // BERT's masked-token transform, and its pooler on one token.
  if (shape.pooler_and_heads) flops.output += 2 * (predicted + 1) * shape.hidden * shape.hidden;
  return flops;
}

/// Parameters on a single device, with `experts` of every mixture counted.
double transformer_parameters(const Model& model, double experts) {
  const TransformerShape& shape = *model.transformer;
  const LayerSharding whole;
  const auto count = [&](LayerRole role) { return layer_work(model, role, 0, 1, 1, whole); };
  const LayerWork output = count(LayerRole::output);
  double total = count(LayerRole::embedding).parameters + output.parameters;
  if (shape.experts > 0) total += output.expert_parameters * experts / shape.experts;
  int moe_layers = 0;
  for (int layer = 0; layer < shape.layers; ++layer) moe_layers += shape.is_moe(layer) ? 1 : 0;
  if (moe_layers < shape.layers) total += (shape.layers - moe_layers) * count(LayerRole::dense_block).parameters;
  if (moe_layers > 0) {
    const LayerWork block = count(LayerRole::moe_block);
    total += moe_layers * (block.parameters + block.expert_parameters * experts / shape.experts);
  }
  return total;
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

double active_parameter_count(const Model& model) {
  return model.transformer ? transformer_parameters(model, model.transformer->top_k) : parameter_count(model);
}

Flops model_flops_per_sample(const Model& model, int seq_len, ModelFlopsOptions options) {
  double forward = 0;
  if (model.transformer) {
    const ForwardFlops flops = forward_flops(*model.transformer, seq_len);
    const bool half = options.causal_halved && model.family == ModelFamily::decoder;
    forward = flops.blocks + flops.attention * (half ? 0.5 : 1.0) + (options.output_layer ? flops.output : 0);
  } else if (model.compact) {
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
