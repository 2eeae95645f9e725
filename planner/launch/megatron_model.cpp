#include "planner/launch/megatron_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/scenario/dispatchers.hpp"

namespace stepcast {

namespace {

void add_size(Arguments& out, const Scenario& s) {
  const TransformerShape& shape = *s.model->transformer;
  if (shape.encoder_layers > 0) {
    out.value("--encoder-num-layers", shape.encoder_layers);
    out.value("--decoder-num-layers", shape.layers - shape.encoder_layers);
    out.value("--decoder-seq-length", static_cast<int>(shape.target_tokens(s.seq_len)));
  } else {
    out.value("--num-layers", shape.layers);
  }
  out.value("--hidden-size", shape.hidden);
  out.value("--ffn-hidden-size", shape.ffn_hidden);
  out.value("--seq-length", s.seq_len);
  // Rows are as many as the model has: no more are added than tensor-parallel ranks need.
  out.value("--vocab-size", shape.vocab);
  out.value("--make-vocab-size-divisible-by", 1);
  if (shape.mtp_layers > 0) out.value("--mtp-num-layers", shape.mtp_layers);
}

void add_sparse_attention(Arguments& out, const SparseAttentionShape& sparse) {
  out.value("--experimental-attention-variant", "dsa");
  out.value("--dsa-indexer-n-heads", sparse.indexer_heads);
  out.value("--dsa-indexer-head-dim", sparse.indexer_head_dim);
  out.value("--dsa-indexer-topk", sparse.tokens);
}

/// Layers of other ratios than 4 and 128 Megatron-LM does not have (planner/launch/megatron.cpp says so).
void add_compressed_attention(Arguments& out, const TransformerShape& shape) {
  const CompressedAttentionShape& compressed = *shape.compressed_attention;
  out.flag("--multi-latent-attention");
  out.flag("--qk-layernorm");
  out.value("--experimental-attention-variant", "dsv4_hybrid");
  if (shape.q_lora_rank > 0) out.value("--q-lora-rank", shape.q_lora_rank);
  out.value("--v-head-dim", shape.head_size());
  out.value("--qk-pos-emb-head-dim", shape.qk_rope_head_dim);
  out.value("--csa-window-size", shape.window);
  // Prediction blocks see their window alone.
  std::vector<int> ratios = compressed.ratios;
  ratios.resize(ratios.size() + static_cast<std::size_t>(shape.mtp_layers), 0);
  out.value("--csa-compress-ratios", fmt::format("[{}]", fmt::join(ratios, ",")));
  out.value("--o-groups", compressed.output_groups);
  out.value("--o-lora-rank", compressed.output_rank);
  if (compressed.indexed_ratio == 0) return;
  out.value("--dsa-indexer-n-heads", compressed.indexer_heads);
  out.value("--dsa-indexer-head-dim", compressed.indexer_head_dim);
  out.value("--dsa-indexer-topk", compressed.entries);
}

void add_attention(Arguments& out, const TransformerShape& shape) {
  out.value("--num-attention-heads", shape.heads);
  if (shape.residual_streams > 1) {
    out.flag("--enable-hyper-connections");
    out.value("--num-residual-streams", shape.residual_streams);
  }
  if (shape.compressed_attention) return add_compressed_attention(out, shape);
  if (shape.is_latent()) {
    out.flag("--multi-latent-attention");
    if (shape.q_lora_rank > 0) out.value("--q-lora-rank", shape.q_lora_rank);
    out.value("--kv-lora-rank", shape.kv_lora_rank);
    out.value("--qk-head-dim", shape.qk_nope_head_dim);
    out.value("--qk-pos-emb-head-dim", shape.qk_rope_head_dim);
    out.value("--v-head-dim", shape.v_head_dim);
    if (shape.sparse_attention) add_sparse_attention(out, *shape.sparse_attention);
  } else if (shape.head_dim > 0) {
    out.value("--kv-channels", shape.head_dim);
  }
  if (shape.kv() != shape.heads) {
    out.flag("--group-query-attention");
    out.value("--num-query-groups", shape.kv());
  }
  if (shape.qk_norm) out.flag("--qk-layernorm");
  if (shape.attention_output_gate) out.flag("--attention-output-gate");
  if (shape.window > 0) out.value("--window-size", fmt::format("{},0", shape.window));
  if (shape.window > 0 && shape.global_every > 0) out.value("--window-attn-skip-freq", shape.global_every);
}

const char* positions(PositionKind kind) {
  switch (kind) {
    case PositionKind::learned:
      return "learned_absolute";
    case PositionKind::rotary:
      return "rope";
    default:
      return "none";
  }
}

void add_layers(Arguments& out, const Scenario& s) {
  const TransformerShape& shape = *s.model->transformer;
  out.value("--max-position-embeddings", std::max(shape.max_positions, s.seq_len));
  out.value("--position-embedding-type", positions(shape.positions));
  out.value("--normalization", shape.norm == NormKind::rms_norm ? "RMSNorm" : "LayerNorm");
  if (shape.gated_mlp) out.flag("--swiglu");
  if (!shape.biases) out.flag("--disable-bias-linear");
  if (shape.qkv_bias) out.flag("--add-qkv-bias");
  if (!shape.tied_embeddings) out.flag("--untie-embeddings-and-output-weights");
  out.value("--attention-dropout", shape.dropout);
  out.value("--hidden-dropout", shape.dropout);
  // An importer tells an encoder by it, too.
  const bool masks = shape.predicted_share < 1 || s.model->family == ModelFamily::encoder;
  if (masks) out.value("--mask-prob", shape.predicted_share);
}

void add_linear_attention(Arguments& out, const LinearAttentionShape& linear) {
  out.value("--linear-num-key-heads", linear.key_heads);
  out.value("--linear-num-value-heads", linear.value_heads);
  out.value("--linear-key-head-dim", linear.key_head_dim);
  out.value("--linear-value-head-dim", linear.value_head_dim);
  out.value("--linear-conv-kernel-dim", linear.convolved_tokens());
}

void add_halves(Arguments& out, const TransformerShape& shape) {
  if (!shape.layer_pattern.empty()) {
    out.flag("--is-hybrid-model");
    out.value("--hybrid-layer-pattern", shape.layer_pattern);
  }
  if (shape.linear_attention) add_linear_attention(out, *shape.linear_attention);
  if (!shape.has_half('M')) return;
  out.value("--mamba-num-heads", shape.ssm_heads);
  out.value("--mamba-head-dim", shape.ssm_head_dim);
  out.value("--mamba-state-dim", shape.ssm_state);
  out.value("--mamba-num-groups", shape.ssm_groups);
}

/// Which layers have experts, as a Python expression: `([0]*3+[1]*58)`, or `([0]*1+[1]*1)*24` for every other one.
std::string expert_layers(const TransformerShape& shape) {
  const int rest = shape.layers - shape.dense_layers;
  if (shape.moe_every == 1) return fmt::format("([0]*{}+[1]*{})", shape.dense_layers, rest);
  std::string period = fmt::format("([0]*{}+[1]*1)*{}", shape.moe_every - 1, rest / shape.moe_every);
  const int behind = rest % shape.moe_every;
  if (shape.dense_layers == 0 && behind == 0) return period;
  return fmt::format("([0]*{}+{}+[0]*{})", shape.dense_layers, period, behind);
}

void add_dispatcher(Arguments& out, const Scenario& scenario) {
  const std::string backend = flex_dispatcher(scenario);
  out.value("--moe-token-dispatcher-type", backend.empty() ? "alltoall" : "flex");
  if (!backend.empty()) out.value("--moe-flex-dispatcher-backend", backend);
}

void add_experts(Arguments& out, const Scenario& scenario) {
  const TransformerShape& shape = *scenario.model->transformer;
  if (shape.experts == 0) return;
  out.value("--num-experts", shape.experts);
  out.value("--moe-router-topk", shape.top_k);
  if (shape.moe_ffn_hidden > 0) out.value("--moe-ffn-hidden-size", shape.moe_ffn_hidden);
  if (shape.shared_expert_ffn > 0) out.value("--moe-shared-expert-intermediate-size", shape.shared_expert_ffn);
  if (shape.moe_latent > 0) out.value("--moe-latent-size", shape.moe_latent);
  if (shape.expert_groups > 1) {
    out.value("--moe-router-num-groups", shape.expert_groups);
    out.value("--moe-router-group-topk", shape.groups_per_token);
  }
  const bool some = shape.layer_pattern.empty() && (shape.dense_layers > 0 || shape.moe_every > 1);
  if (some) out.value("--moe-layer-freq", expert_layers(shape));
  out.flag("--moe-grouped-gemm");
  add_dispatcher(out, scenario);
}

}  // namespace

std::string flex_dispatcher(const Scenario& scenario) {
  if (scenario.expert_dispatch != ExpertDispatch::deepep || scenario.degrees.ep == 1) return {};
  return by_hybridep(*scenario.node) ? "hybridep" : "deepep";
}

void add_megatron_model(Arguments& out, const Scenario& scenario) {
  const TransformerShape& shape = *scenario.model->transformer;
  add_size(out, scenario);
  add_attention(out, shape);
  add_layers(out, scenario);
  add_halves(out, shape);
  add_experts(out, scenario);
}

}  // namespace stepcast
