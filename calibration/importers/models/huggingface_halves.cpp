#include "calibration/importers/models/huggingface_halves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "calibration/importers/models/huggingface_linear.hpp"

namespace stepcast {

namespace {

/// Far above any model; a file's number of layers is checked later.
constexpr long kMostBlocks = 100000;

/// Blocks of a model; 0 where the file does not say.
long blocks_of(const Json& config) {
  const auto found = config.find("num_hidden_layers");
  if (found == config.end() || !found->is_number_integer()) return 0;
  return std::clamp(found->get<long>(), 0L, kMostBlocks);
}

long count_in(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_number_integer() ? found->get<long>() : 0;
}

/// The mixing half of every block by the list of those with attention; empty where there is none.
std::string mixed_by_indices(const Json& config) {
  std::string out(static_cast<std::size_t>(blocks_of(config)), 'M');
  const auto indices = config.find("attn_layer_indices");
  if (indices == config.end() || !indices->is_array()) return {};
  for (const Json& index : *indices) {
    if (!index.is_number_integer()) return {};
    const auto block = index.get<long>();
    if (block < 0 || block >= static_cast<long>(out.size())) return {};
    out[static_cast<std::size_t>(block)] = '*';
  }
  return out;
}

/// The same by the list of the blocks' kinds.
std::string mixed_by_kinds(const Json& config) {
  std::string out;
  const auto kinds = config.find("layer_types");
  if (kinds == config.end() || !kinds->is_array()) return {};
  for (const Json& kind : *kinds) {
    if (kind != "mamba" && kind != "attention") return {};
    out += kind == "mamba" ? 'M' : '*';
  }
  return static_cast<long>(out.size()) == blocks_of(config) ? out : std::string{};
}

/// Every block's halves that mix tokens, one string a block run together: `each` times as many letters as blocks.
std::string with_feed_forward(const std::string& mixed, std::size_t each, char feed_forward) {
  std::string out;
  for (std::size_t at = 0; at < mixed.size(); at += each) out += mixed.substr(at, each) + feed_forward;
  return out;
}

/// Whether a block has experts: of Qwen's keys those that list and step, of DeepSeek's the first that are dense and
/// the step from the first block on (modeling_kimi.py).
bool is_routed(const Json& config, long block) {
  const long experts = std::max(
      {count_in(config, "num_experts"), count_in(config, "num_local_experts"), count_in(config, "n_routed_experts")});
  const long step = std::max(1L, count_in(config, "decoder_sparse_step"));
  if (experts < 2 || block < count_in(config, "first_k_dense_replace") || (block + 1) % step != 0) return false;
  if (block % std::max(1L, count_in(config, "moe_layer_freq")) != 0) return false;
  const auto dense = config.find("mlp_only_layers");
  return dense == config.end() || !dense->is_array() ||
         std::find(dense->begin(), dense->end(), Json(block)) == dense->end();
}

/// Removes what is_routed goes by; what it cannot be, a step of 0 or a word, stays and is a fault.
void settle_routing(Json& config) {
  for (const auto& [key, least] :
       {std::pair{"decoder_sparse_step", 1}, std::pair{"moe_layer_freq", 1}, std::pair{"first_k_dense_replace", 0}})
    if (const auto found = config.find(key);
        found != config.end() && found->is_number_integer() && found->get<long>() >= least)
      config.erase(key);
  if (const auto list = config.find("mlp_only_layers"); list != config.end() && list->is_array())
    config.erase("mlp_only_layers");
}

/// Blocks of linear or full attention, each with an MLP or experts.
std::string with_own_feed_forward(Json& config, const std::string& mixed) {
  std::string out;
  for (std::size_t block = 0; block < mixed.size(); ++block) {
    out += mixed[block];
    out += is_routed(config, static_cast<long>(block)) ? 'E' : '-';
  }
  if (out.empty()) return out;
  settle_linear_attention(config);
  settle_routing(config);
  return out;
}

std::string repeated(std::string_view letters, long times) {
  std::string out;
  for (long i = 0; i < times; ++i) out += letters;
  return out;
}

/// Granite's dense blocks keep the MLP that those with experts have beside them.
void take_shared_mlp(Json& config) {
  if (count_in(config, "num_local_experts") > 1 || count_in(config, "shared_intermediate_size") == 0) return;
  config["intermediate_size"] = config.at("shared_intermediate_size");
  config.erase("shared_intermediate_size");
}

std::string letters_of(Json& config, const HuggingFaceType& type) {
  switch (type.halves) {
    case LayerHalves::indices:
      return with_feed_forward(mixed_by_indices(config), 1, '-');
    case LayerHalves::kinds:
      take_shared_mlp(config);
      return with_feed_forward(mixed_by_kinds(config), 1, count_in(config, "num_local_experts") > 1 ? 'E' : '-');
    case LayerHalves::linear:
      return with_own_feed_forward(config, blocks_of_linear_attention(config, type.linear).letters);
    case LayerHalves::side_by_side:
      return with_feed_forward(repeated("M*", blocks_of(config)), 2, '-');
    case LayerHalves::mixers:
      // What is cut by attention heads is cut by the mixer's.
      config["num_attention_heads"] = config.value("mamba_num_heads", Json(1));
      return repeated("M", blocks_of(config));
    case LayerHalves::none:
    case LayerHalves::letters:
      break;
  }
  return {};
}

/// The key by which a file of a type says which layers are mixers.
std::string_view halves_key(LayerHalves halves) {
  switch (halves) {
    case LayerHalves::indices:
      return "attn_layer_indices";
    case LayerHalves::kinds:
      return "layer_types";
    case LayerHalves::side_by_side:
    case LayerHalves::mixers:
      return "num_hidden_layers";
    case LayerHalves::none:
    case LayerHalves::linear:
    case LayerHalves::letters:
      break;
  }
  return "hybrid_override_pattern";
}

/// Why a file says no letters for its layers.
void refuse_halves(const ReadHalves& into, const HuggingFaceType& type) {
  if (type.halves == LayerHalves::linear) {
    const LinearBlocks blocks = blocks_of_linear_attention(into.config, type.linear);
    std::string pointer = into.pointer;
    for (const std::string& key : blocks.at) pointer = child_pointer(pointer, key);
    // A count that is none has been reported with the other sizes.
    if (into.shape["layers"] == 0) return;
    return into.diagnostics.error(pointer, blocks.fault, blocks.expected);
  }
  const std::string key(halves_key(type.halves));
  into.diagnostics.error(child_pointer(into.pointer, key),
                         into.reader.has(key) ? "does not say which of the layers are mixers" : "missing",
                         type.halves == LayerHalves::kinds ? "mamba or attention for each layer" : "");
}

/// Sizes of Mamba-2 mixers, by the keys of nemotron_h (configuration_nemotron_h.py of its checkpoints), to which other
/// types' were brought.
void read_mixers(const ReadHalves& into) {
  into.shape["ssm_heads"] = into.reader.required({"mamba_num_heads"});
  into.shape["ssm_head_dim"] = into.reader.required({"mamba_head_dim"});
  into.shape["ssm_state"] = into.reader.required({"ssm_state_size"});
  into.shape["ssm_groups"] = into.reader.required({"n_groups", "mamba_n_groups"});
  if (const auto tokens = into.reader.whole("conv_kernel"); tokens && *tokens != 4) into.shape["ssm_conv"] = *tokens;
  if (const auto chunk = into.reader.whole("chunk_size"); chunk && *chunk != 128)
    into.notes.push_back(fmt::format("chunk_size {}: scans are described in chunks of 128 tokens", *chunk));
  into.reader.ignore({"expand",
                      "attention_in_multiplier",
                      "attention_out_multiplier",
                      "attn_layer_indices",
                      "attn_rotary_emb",
                      "init_method",
                      "key_multiplier",
                      "lm_head_multiplier",
                      "mamba_conv_bias",
                      "mamba_d_ssm",
                      "mamba_expand",
                      "mamba_norm_before_gate",
                      "mamba_rms_norm",
                      "mamba_use_mlp",
                      "mlp_expansion_factor",
                      "mlp_multipliers",
                      "normalization_function",
                      "position_embedding_type",
                      "projectors_bias",
                      "rms_norm",
                      "ssm_in_multiplier",
                      "ssm_multipliers",
                      "ssm_out_multiplier",
                      "z_loss_coefficient",
                      "mamba_hidden_act",
                      "mamba_proj_bias",
                      "mamba_ssm_cache_dtype",
                      "mlp_hidden_act",
                      "residual_in_fp32",
                      "rescale_prenorm_residual",
                      "time_step_floor",
                      "time_step_limit",
                      "time_step_max",
                      "time_step_min",
                      "time_step_rank",
                      "use_bias",
                      "use_conv_bias",
                      "use_mamba_kernels",
                      "hidden_dropout",
                      "num_logits_to_keep",
                      "norm_eps",
                      "partial_rotary_factor",
                      "mtp_hybrid_override_pattern"});
}

}  // namespace

void write_halves(Json& config, const HuggingFaceType& type) {
  if (type.halves == LayerHalves::none || type.halves == LayerHalves::letters) return;
  const std::string letters = letters_of(config, type);
  if (letters.empty()) return;
  config["hybrid_override_pattern"] = letters;
  config["num_hidden_layers"] = letters.size();
  config.erase("attn_layer_indices");
  config.erase("layer_types");
}

void read_halves(const ReadHalves& into, const HuggingFaceType& type) {
  into.shape["layer_pattern"] = into.reader.text("hybrid_override_pattern");
  if (into.shape["layer_pattern"].get_ref<const std::string&>().empty()) refuse_halves(into, type);
  if (type.halves == LayerHalves::side_by_side)
    into.notes.emplace_back("attention and mixer, side by side in this model, are taken to follow one another");
  const std::size_t layers = into.shape["layer_pattern"].get_ref<const std::string&>().size();
  if (layers > 0 && type.halves != LayerHalves::letters && type.halves != LayerHalves::mixers)
    into.notes.push_back(
        fmt::format("attention, mixer and MLP of a block are layers of their own, {} in all; pipeline "
                    "stages and stage_layers count these",
                    layers));
  if (type.halves != LayerHalves::linear) return read_mixers(into);
  into.shape["linear_attention"] = linear_attention_of(into, type.linear);
  if (into.reader.flag("attn_output_gate", type.output_gate)) into.shape["attention_output_gate"] = true;
  into.reader.ignore({"partial_rotary_factor"});
}

}  // namespace stepcast
