#include "calibration/importers/models/huggingface_linear.hpp"

#include <algorithm>
#include <array>

#include "fields/field_table.hpp"

namespace stepcast {

namespace {

constexpr const char* kSection = "linear_attn_config";

long count_of(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_number_integer() ? found->get<long>() : 0;
}

/// layer_types, and attn_type_list of MiniMax-Text-01, which has 1 for full attention.
std::string by_list(const Json& list) {
  std::string out;
  for (const Json& one : list) {
    const bool full = one == "full_attention" || one == 1, linear = one == "linear_attention" || one == 0;
    if (!full && !linear) return {};
    out += full ? '*' : 'G';
  }
  return out;
}

/// Every so many-th block has full attention (Qwen3-Next's configuration class); Ring-linear's, whose last blocks are
/// no whole group, have it in each of those (modeling_bailing_moe_linear.py).
std::string by_interval(long blocks, long every, bool rest_is_full) {
  std::string out;
  for (long block = 0; block < blocks; ++block) {
    const bool rest = rest_is_full && block >= blocks / every * every;
    out += rest || (block + 1) % every == 0 ? '*' : 'G';
  }
  return out;
}

/// Kimi Linear counts blocks from 1.
std::string by_numbers(long blocks, const Json& full) {
  std::string out(static_cast<std::size_t>(blocks), 'G');
  for (const Json& one : full) {
    if (!one.is_number_integer() || one < 1 || one > blocks) return {};
    out[one.get<std::size_t>() - 1] = '*';
  }
  return out;
}

}  // namespace

std::string blocks_of_linear_attention(const Json& config) {
  constexpr long kMostBlocks = 100000;
  const long blocks = std::clamp(count_of(config, "num_hidden_layers"), 0L, kMostBlocks);
  const auto whole = [&](std::string letters) {
    return static_cast<long>(letters.size()) == blocks ? std::move(letters) : std::string{};
  };
  // A list of the blocks goes before an interval, also where it says what is not known here.
  for (const char* key : {"layer_types", "attn_type_list"})
    if (config.contains(key) && config.at(key).is_array()) return whole(by_list(config.at(key)));
  if (config.contains(kSection) && config.at(kSection).is_object() && config.at(kSection).contains("full_attn_layers"))
    return whole(by_numbers(blocks, config.at(kSection).at("full_attn_layers")));
  if (const long every = count_of(config, "full_attention_interval"); every > 0)
    return by_interval(blocks, every, false);
  const long group = count_of(config, "layer_group_size");
  return group > 0 ? by_interval(blocks, group, true) : std::string{};
}

void settle_linear_attention(Json& config) {
  for (const char* key : {"layer_types", "attn_type_list", "full_attention_interval", "layer_group_size"})
    config.erase(key);
  if (!config.contains(kSection) || !config.at(kSection).is_object()) return;
  const Json section = config.at(kSection);
  config.erase(kSection);
  constexpr std::array kLifted{
      std::pair{"num_heads", "linear_num_key_heads"}, std::pair{"num_heads", "linear_num_value_heads"},
      std::pair{"head_dim", "linear_key_head_dim"}, std::pair{"head_dim", "linear_value_head_dim"},
      std::pair{"short_conv_kernel_size", "linear_conv_kernel_dim"}};
  for (const auto& [theirs, usual] : kLifted)
    if (section.contains(theirs)) config[usual] = section.at(theirs);
}

Json linear_attention_of(ConfigReader& reader, LinearAttentionKind kind) {
  Json out{{"kind", name_of(kind)}};
  if (kind == LinearAttentionKind::lightning) {
    out["key_heads"] = out["value_heads"] = reader.required({"num_attention_heads"});
    out["key_head_dim"] = out["value_head_dim"] = reader.required({"head_dim"});
    out["convolution"] = 0;
    reader.ignore({"block_size",
                   "full_attn_alpha_factor",
                   "full_attn_beta_factor",
                   "group_norm_size",
                   "layernorm_full_attention_alpha",
                   "layernorm_full_attention_beta",
                   "layernorm_linear_attention_alpha",
                   "layernorm_linear_attention_beta",
                   "layernorm_mlp_alpha",
                   "layernorm_mlp_beta",
                   "linear_attn_alpha_factor",
                   "linear_attn_beta_factor",
                   "linear_rope",
                   "linear_silu",
                   "mlp_alpha_factor",
                   "mlp_beta_factor",
                   "postnorm",
                   "rotary_dim",
                   "rotary_type",
                   "shared_moe_mode",
                   "use_linear_silu"});
    return out;
  }
  out["key_heads"] = reader.required({"linear_num_key_heads"});
  out["value_heads"] = reader.required({"linear_num_value_heads"});
  out["key_head_dim"] = reader.required({"linear_key_head_dim"});
  out["value_head_dim"] = reader.required({"linear_value_head_dim"});
  if (const auto tokens = reader.whole("linear_conv_kernel_dim"); tokens && *tokens != 4) out["convolution"] = *tokens;
  reader.ignore({"linear_a_log_max", "linear_a_log_min", "linear_allow_neg_eigval", "linear_dt_init_floor",
                 "linear_dt_max", "linear_dt_min", "mamba_ssm_dtype", "mla_use_nope", "moe_renormalize",
                 "moe_router_activation_func", "use_grouped_topk"});
  return out;
}

}  // namespace stepcast
