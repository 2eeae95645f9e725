#include "calibration/importers/models/huggingface_experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

struct ExpertSynonym {
  const char *theirs, *usual;
};
// modeling_<type>.py of transformers and vLLM: Aria (aria.py), ERNIE 4.5 (ernie45_moe.py), Step 3 (step3_text.py),
// DBRX, Cohere 2 with experts, Ling (bailing_moe.py), Kimi Linear. Shared experts are as wide as so many of the others;
// share_expert_dim is the width of the one that Step has.
constexpr std::array kExpertSynonyms{ExpertSynonym{"moe_num_experts", "num_experts"},
                                     ExpertSynonym{"moe_topk", "num_experts_per_tok"},
                                     ExpertSynonym{"moe_top_k", "num_experts_per_tok"},
                                     ExpertSynonym{"moe_k", "num_experts_per_tok"},
                                     ExpertSynonym{"num_experts_per_token", "num_experts_per_tok"},
                                     ExpertSynonym{"moe_num_shared_experts", "n_shared_experts"},
                                     ExpertSynonym{"num_shared_experts", "n_shared_experts"},
                                     ExpertSynonym{"share_expert_dim", "shared_expert_intermediate_size"},
                                     ExpertSynonym{"moe_layer_start_index", "first_k_dense_replace"},
                                     ExpertSynonym{"moe_layer_interval", "moe_layer_freq"}};

constexpr auto kCounts = std::to_array<const char*>({"n_routed_experts", "num_local_experts", "num_experts"});
constexpr auto kSwitches = std::to_array<const char*>({"is_moe", "use_moe", "enable_moe_block"});

constexpr auto kExpertSizes = std::to_array<std::string_view>(
    {"n_routed_experts", "num_local_experts", "num_experts", "num_experts_per_tok", "experts_per_token",
     "moe_intermediate_size", "n_shared_experts", "shared_expert_intermediate_size",
     "moe_shared_expert_intermediate_size", "shared_intermediate_size", "moe_latent_size", "first_k_dense_replace",
     "moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "mlp_layer_types", "mlp_only_layers",
     "moe_layers"});

// What of routing, losses, kernels and formats speaks of experts and changes no shape (configuration_<type>.py).
constexpr auto kWithoutShape = std::to_array<std::string_view>({"expert_dtype",
                                                                "expert_parallel",
                                                                "expert_selection_fn",
                                                                "experts_implementation",
                                                                "moe_all_to_all_dropout",
                                                                "moe_apply_router_weight_on_input",
                                                                "moe_drop_policy",
                                                                "moe_dtype",
                                                                "moe_gate",
                                                                "moe_gate_act",
                                                                "moe_group",
                                                                "moe_group_experts",
                                                                "moe_grouped_gemm",
                                                                "moe_impl",
                                                                "moe_implementation",
                                                                "moe_logging",
                                                                "moe_norm_min",
                                                                "moe_norm_topk_prob",
                                                                "moe_permute_fusion",
                                                                "moe_renormalize",
                                                                "moe_reverse_token_drop",
                                                                "moe_use_aux_free",
                                                                "moe_use_bias_correction",
                                                                "moe_use_gate_correction_bias",
                                                                "moe_use_hard_gate",
                                                                "moe_use_token_type_bias",
                                                                "moe_with_send_router_loss",
                                                                "need_expert_bias",
                                                                "norm_expert_prob",
                                                                "norm_expert_weight",
                                                                "shared_expert_combination_strategy",
                                                                "use_expert_bias",
                                                                "use_moe_router_bias"});
constexpr auto kPartsWithoutShape =
    std::to_array<std::string_view>({"loss", "coef", "jitter", "dropout", "capacity", "bias_update"});

bool speaks_of_experts(std::string_view key) {
  const bool routing = (key.ends_with("topk") || key.ends_with("top_k")) && !key.starts_with("index");
  return routing || contains(key, "expert") || key == "moe" || key.starts_with("moe_") || contains(key, "_moe_") ||
         key.ends_with("_moe") || key.ends_with("dense_intermediate_size");
}

bool changes_no_shape(std::string_view key) {
  // A router's width is the number of experts; what else it does is scores, but for how many it takes.
  const bool router = contains(key, "moe_router_") && !key.ends_with("topk") && !key.ends_with("groups");
  return router || std::find(kWithoutShape.begin(), kWithoutShape.end(), key) != kWithoutShape.end() ||
         std::any_of(kPartsWithoutShape.begin(), kPartsWithoutShape.end(),
                     [&](std::string_view part) { return contains(key, part); });
}

/// One expert is an MLP, and every layer has experts; one that is shared is one more, and an index of 1 another layer.
bool says_none(std::string_view key, const Json& value) {
  if (value.is_null() || value == false || value == 0) return true;
  if (value.is_array() || value.is_object()) return value.empty();
  return value.is_string() ? value == "" : value == 1 && !contains(key, "share") && !contains(key, "index");
}

/// How many experts there are has three usual names; the one that a file has.
std::string stated_name(const Json& config, std::string_view usual) {
  if (usual == "num_experts")
    for (const char* key : kCounts)
      if (config.contains(key)) return key;
  return std::string(usual);
}

bool is_switched_off(const Json& config) {
  return std::any_of(kSwitches.begin(), kSwitches.end(),
                     [&](const char* key) { return config.contains(key) && config.at(key) == false; });
}

}  // namespace

void usual_experts(Json& config) {
  for (const auto& [theirs, usual] : kExpertSynonyms) {
    if (!config.contains(theirs)) continue;
    const std::string name = stated_name(config, usual);
    const Json value = config.at(theirs);
    if (config.contains(name) && config.at(name) != value) continue;
    config.erase(theirs);
    config[name] = value;
  }
}

void drop_unused_experts(Json& config) {
  if (!is_switched_off(config)) return;
  for (const std::string_view key : kExpertSizes) config.erase(std::string(key));
}

void ignore_expert_sizes(ConfigReader& reader) { reader.ignore(kExpertSizes); }

bool has_experts(ConfigReader& reader) {
  for (const char* key : kSwitches) reader.flag(key, true);
  bool any = false;
  for (const char* key : kCounts)
    if (const auto count = reader.whole(key, 0)) any = any || *count > 1;
  return any;
}

bool states_no_experts(const Json& config) {
  const auto stated = [&](const char* key) { return config.contains(key); };
  return is_switched_off(config) || (std::any_of(kCounts.begin(), kCounts.end(), stated) &&
                                     std::all_of(kCounts.begin(), kCounts.end(), [&](const char* key) {
                                       return !stated(key) || says_none(key, config.at(key));
                                     }));
}

void refuse_early_end(ConfigReader& reader, long layers, const std::string& pointer, Diagnostics& diagnostics) {
  constexpr const char* kKey = "moe_layer_end_index";
  const auto last = reader.whole(kKey, -1);
  if (last && *last != -1 && *last < layers - 1)
    diagnostics.error(child_pointer(pointer, kKey), fmt::format("found {}, expected {}", *last, layers - 1),
                      "the model's last layer, or -1");
}

void refuse_unread_experts(const Json& config, const std::vector<std::string>& unread, const std::string& pointer,
                           Diagnostics& diagnostics) {
  for (const std::string& key : unread)
    if (speaks_of_experts(key) && !changes_no_shape(key) && !says_none(key, config.at(key)))
      diagnostics.error(child_pointer(pointer, key),
                        fmt::format("found {}: the key speaks of experts and is not read here, so that the model's "
                                    "size would be wrong",
                                    describe(config.at(key))),
                        "experts are read from num_experts, num_experts_per_tok, moe_intermediate_size, "
                        "n_shared_experts, first_k_dense_replace and moe_layer_freq");
}

}  // namespace stepcast
