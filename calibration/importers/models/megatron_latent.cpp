#include "calibration/importers/models/megatron_latent.hpp"

#include <fmt/format.h>

namespace stepcast {

namespace {

/// Whether the arguments have DeepSeek Sparse Attention, by Megatron-LM's switch or by MindSpeed-LLM's.
bool has_sparse_attention(MegatronArguments& in) {
  const std::string variant = "--experimental-attention-variant";
  const bool indexed = in.list.has("--enable-dsa-indexer");
  return indexed || (in.list.has(variant) && in.list.text(variant) == "dsa");
}

void read_sparse_attention(MegatronArguments& in, Json& shape) {
  if (!has_sparse_attention(in)) return;
  shape["sparse_attention"] = {
      {"tokens", in.first_of({"--dsa-indexer-topk", "--index-topk"}).value_or(2048)},
      {"indexer_heads", in.first_of({"--dsa-indexer-n-heads", "--index-n-heads"}).value_or(64)},
      {"indexer_head_dim", in.first_of({"--dsa-indexer-head-dim", "--index-head-dim"}).value_or(128)}};
}

}  // namespace

bool has_latent_attention(MegatronArguments& in) {
  const std::string usual = "--multi-latent-attention";
  const bool named = in.list.has(usual), by_fork = in.list.has("--multi-head-latent-attention");
  if (named || by_fork) return true;
  if (in.list.denies(usual)) return false;
  for (const char* option : {"--kv-lora-rank", "--q-lora-rank"}) {
    if (!in.list.has(option)) continue;
    in.notes.push_back(fmt::format("{} without {}: taken for a program whose attention is latent", option, usual));
    return true;
  }
  return false;
}

void read_latent_attention(MegatronArguments& in, Json& shape) {
  shape.erase("head_dim");
  shape["kv_lora_rank"] = in.list.whole("--kv-lora-rank").value_or(512);
  shape["qk_nope_head_dim"] = in.first_of({"--qk-head-dim", "--qk-nope-head-dim"}).value_or(128);
  shape["qk_rope_head_dim"] = in.first_of({"--qk-pos-emb-head-dim", "--qk-rope-head-dim"}).value_or(64);
  shape["v_head_dim"] = in.list.whole("--v-head-dim").value_or(128);
  in.copy(shape, "q_lora_rank", "--q-lora-rank");
  read_sparse_attention(in, shape);
}

}  // namespace stepcast
