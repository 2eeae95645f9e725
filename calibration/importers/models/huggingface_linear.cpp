#include "calibration/importers/models/huggingface_linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fields/field_table.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr const char* kSection = "linear_attn_config";
/// A model here has 10,000 layers at most, and a block is two.
constexpr int kMostBlocksOfTwo = 5000;

const Json* present(const Json& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? nullptr : &*found;
}

LinearBlocks fault(std::vector<std::string> at, std::string text, std::string expected = "") {
  return {{}, std::move(at), std::move(text), std::move(expected)};
}

/// A kind for each block: layer_types, and attn_type_list of MiniMax-Text-01, which has 1 for full attention.
LinearBlocks by_list(const std::string& key, const Json& list, int blocks) {
  const bool numbers = key == "attn_type_list";
  const Json linear = numbers ? Json(0) : Json("linear_attention"), full = numbers ? Json(1) : Json("full_attention");
  const std::string kinds = fmt::format("{} or {} for each layer", describe(linear), describe(full));
  if (!list.is_array()) return fault({key}, "found " + describe(list), kinds);
  LinearBlocks out;
  for (std::size_t block = 0; block < list.size(); ++block) {
    if (list[block] != linear && list[block] != full)
      return fault({key, std::to_string(block)}, "found " + describe(list[block]), kinds);
    out.letters += list[block] == full ? '*' : 'G';
  }
  if (list.size() == static_cast<std::size_t>(blocks)) return out;
  return fault({key}, fmt::format("names {} layers, but num_hidden_layers is {}", list.size(), blocks), kinds);
}

/// Every so many-th block has full attention (Qwen3-Next's configuration class); Ring-linear's, whose last blocks are
/// no whole group, have it in each of those (modeling_bailing_moe_linear.py).
LinearBlocks by_interval(const std::string& key, const Json& interval, int blocks) {
  const double stated = interval.is_number() ? interval.get<double>() : 0;
  if (stated < 1 || stated != std::floor(stated))
    return fault({key}, "found " + describe(interval),
                 "a whole number of at least 1: every how many-th layer sees all");
  // Longer ones than the model are alike.
  const int every = static_cast<int>(std::min(stated, kMostBlocksOfTwo + 1.0));
  LinearBlocks out;
  for (int block = 0; block < blocks; ++block) {
    const bool rest = key == "layer_group_size" && block >= blocks / every * every;
    out.letters += rest || (block + 1) % every == 0 ? '*' : 'G';
  }
  return out;
}

/// Kimi Linear lists blocks of both kinds, counted from 1.
LinearBlocks by_numbers(const Json& section, int blocks) {
  LinearBlocks out{std::string(static_cast<std::size_t>(blocks), '?'), {}, {}, {}};
  for (const auto& [key, letter] : {std::pair{"full_attn_layers", '*'}, std::pair{"kda_layers", 'G'}}) {
    const Json* list = present(section, key);
    const std::string numbers =
        fmt::format("a list of layers from 1 to {}, each in one of full_attn_layers and kda_layers", blocks);
    if (list == nullptr || !list->is_array())
      return fault({kSection, key}, list == nullptr ? "missing" : "found " + describe(*list), numbers);
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Json& one = (*list)[i];
      const bool layer = one.is_number_integer() && one >= 1 && one <= blocks;
      if (!layer || out.letters[one.get<std::size_t>() - 1] != '?')
        return fault({kSection, key, std::to_string(i)}, "found " + describe(one), numbers);
      out.letters[one.get<std::size_t>() - 1] = letter;
    }
  }
  const std::size_t none = out.letters.find('?');
  if (none == std::string::npos) return out;
  return fault({kSection}, fmt::format("layer {} is in no list", none + 1), "full_attn_layers or kda_layers");
}

}  // namespace

LinearBlocks blocks_of_linear_attention(const Json& config, LinearAttentionKind kind) {
  const Json* count = present(config, "num_hidden_layers");
  const double stated = count != nullptr && count->is_number() ? count->get<double>() : 0;
  if (!(stated >= 1 && stated <= kMostBlocksOfTwo) || stated != std::floor(stated))
    return fault({"num_hidden_layers"}, count != nullptr ? "found " + describe(*count) : "missing",
                 fmt::format("a whole number from 1 to {}", kMostBlocksOfTwo));
  const int blocks = static_cast<int>(stated);
  // A list of the blocks goes before an interval, also where it says what is not known here.
  for (const char* key : {"layer_types", "attn_type_list"})
    if (const Json* list = present(config, key)) return by_list(key, *list, blocks);
  if (kind == LinearAttentionKind::kimi_delta) {
    const Json* section = present(config, kSection);
    if (section != nullptr && section->is_object()) return by_numbers(*section, blocks);
    return fault({kSection}, section == nullptr ? "missing" : "found " + describe(*section),
                 "an object with full_attn_layers and kda_layers");
  }
  for (const char* key : {"full_attention_interval", "layer_group_size"})
    if (const Json* interval = present(config, key)) return by_interval(key, *interval, blocks);
  return fault({"layer_types"}, "missing", "linear_attention or full_attention for each layer");
}

void settle_linear_attention(Json& config) {
  for (const char* key : {"layer_types", "attn_type_list", "full_attention_interval", "layer_group_size"})
    config.erase(key);
}

namespace {

/// Kimi's sizes are in a section of their own.
Json kimi_delta_of(const ReadHalves& into) {
  Json out{{"kind", name_of(LinearAttentionKind::kimi_delta)}};
  into.reader.ignore({kSection});
  const Json* section = present(into.config, kSection);
  if (section == nullptr || !section->is_object()) return out;
  ConfigReader reader(*section, child_pointer(into.pointer, kSection), into.diagnostics);
  out["key_heads"] = out["value_heads"] = reader.required({"num_heads"});
  out["key_head_dim"] = out["value_head_dim"] = reader.required({"head_dim"});
  if (const auto tokens = reader.whole("short_conv_kernel_size"); tokens && *tokens != 4) out["convolution"] = *tokens;
  reader.ignore({"full_attn_layers", "kda_layers"});
  if (const std::string unknown = unknown_note(reader.unknown()); !unknown.empty())
    into.notes.push_back(fmt::format("{}: {}", kSection, unknown));
  return out;
}

}  // namespace

Json linear_attention_of(const ReadHalves& into, LinearAttentionKind kind) {
  ConfigReader& reader = into.reader;
  reader.ignore({"linear_a_log_max", "linear_a_log_min", "linear_allow_neg_eigval", "linear_dt_init_floor",
                 "linear_dt_max", "linear_dt_min", "mamba_ssm_dtype", "mla_use_nope", "moe_renormalize",
                 "moe_router_activation_func", "use_grouped_topk"});
  if (kind == LinearAttentionKind::kimi_delta) return kimi_delta_of(into);
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
  return out;
}

}  // namespace stepcast
