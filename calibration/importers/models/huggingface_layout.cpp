#include "calibration/importers/models/huggingface_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/importers/models/huggingface_experts.hpp"
#include "calibration/importers/models/huggingface_halves.hpp"
#include "calibration/importers/models/huggingface_layers.hpp"

namespace stepcast {

namespace {

/// Without these a file describes no model of its own.
constexpr auto kSizes = std::to_array<std::string_view>(
    {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "num_local_experts",
     "n_embd", "n_layer", "n_head", "n_positions", "d_model", "d_ff", "num_layers", "num_heads", "ffn_dim",
     "encoder_layers", "encoder_ffn_dim", "encoder_attention_heads"});
/// Names of one size. What a file says under one of them, no default of another contradicts.
constexpr std::array kSynonyms{std::array<std::string_view, 3>{"n_positions", "max_position_embeddings", "seq_length"},
                               std::array<std::string_view, 3>{"n_embd", "hidden_size", "n_embed"},
                               std::array<std::string_view, 3>{"n_layer", "num_hidden_layers", ""},
                               std::array<std::string_view, 3>{"n_head", "num_attention_heads", ""},
                               std::array<std::string_view, 3>{"num_layers", "encoder_layers", ""},
                               std::array<std::string_view, 3>{"num_heads", "encoder_attention_heads", ""},
                               std::array<std::string_view, 3>{"d_ff", "encoder_ffn_dim", ""},
                               std::array<std::string_view, 3>{"ffn_dim", "intermediate_size", "n_inner"},
                               std::array<std::string_view, 3>{"n_routed_experts", "num_local_experts", "num_experts"}};
/// Parts of a file that others keep in one (MPT, DBRX).
constexpr std::array kSections{"attn_config", "ffn_config"};

void put(Json& config, const std::string& key, const Json& value) {
  if (!value.is_null()) config[key] = value;
}

void lift_sections(Json& config) {
  for (const char* section : kSections) {
    if (!config.contains(section) || !config.at(section).is_object()) continue;
    const Json inner = config.at(section);
    config.erase(section);
    for (const auto& [key, value] : inner.items())
      if (!config.contains(key)) config[key] = value;
  }
}

void rename(Json& config, const Json& names) {
  for (const auto& [theirs, usual] : names.items()) {
    if (!config.contains(theirs)) continue;
    const Json value = config.at(theirs);
    config.erase(theirs);
    put(config, usual.get<std::string>(), value);
  }
}

void drop_contradicted(Json& defaults, const Json& given) {
  for (const auto& names : kSynonyms) {
    const bool stated = std::any_of(names.begin(), names.end(),
                                    [&](std::string_view name) { return given.contains(std::string(name)); });
    for (const std::string_view name : names)
      if (stated && !given.contains(std::string(name))) defaults.erase(std::string(name));
  }
}

/// A list of one number over and over, as of layers that are all alike, is that number.
void collapse_lists(Json& config) {
  for (const char* key : {"num_experts", "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts"}) {
    if (!config.contains(key) || !config.at(key).is_array() || config.at(key).empty()) continue;
    const Json list = config.at(key);
    if (list[0].is_number() && std::all_of(list.begin(), list.end(), [&](const Json& one) { return one == list[0]; }))
      config[key] = list[0];
  }
}

/// A file may keep the sizes of latent attention that its model does not have (DeepSeek-OCR).
void drop_unused_latents(Json& config) {
  const auto is = [&](const char* key, const Json& value) { return config.contains(key) && config.at(key) == value; };
  if (!is("use_mla", false) && !is("kv_lora_rank", 0)) return;
  for (const char* key : {"kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
    config.erase(key);
}

/// What a type says the other way round, or as a product.
void translate(Json& config, const HuggingFaceType& type) {
  const auto flag = [&](const char* key, const Json& value) { return config.contains(key) && config.at(key) == value; };
  if (config.contains("no_bias") && config.at("no_bias").is_boolean()) {
    config["bias"] = !config.at("no_bias").get<bool>();
    config.erase("no_bias");
  }
  const bool stated = config.contains("intermediate_size") && config.at("intermediate_size").is_number();
  if (stated) config.erase("expansion_ratio");
  if (config.contains("expansion_ratio") && config.at("expansion_ratio").is_number() &&
      config.contains("hidden_size") && config.at("hidden_size").is_number()) {
    config["intermediate_size"] = config.at("expansion_ratio").get<double>() * config.at("hidden_size").get<double>();
    config.erase("expansion_ratio");
  }
  if (type.gate_in_width && config.contains("intermediate_size") && config.at("intermediate_size").is_number())
    config["intermediate_size"] = config.at("intermediate_size").get<double>() / 2;
  if (flag("attn_type", "multiquery_attention")) config["num_key_value_heads"] = 1;
  if (flag("multi_query_attention", false)) config.erase("num_key_value_heads");
  if (config.contains("attention_types") && config.at("attention_types").dump().find("local") == std::string::npos)
    config.erase("sliding_window");
}

}  // namespace

UsualLayout usual_layout(const Json& config, const HuggingFaceType& type, bool part, std::vector<std::string>& notes) {
  Json given = config;
  lift_sections(given);
  Json stated = given;
  rename(given, Json::parse(type.names));
  usual_experts(given);
  stated.update(given);
  Json out = Json::parse(type.defaults);
  if (part) out.update(Json::parse(type.part));
  drop_contradicted(out, given);
  std::vector<std::string> absent;
  for (const std::string_view size : kSizes)
    if (const std::string key(size); out.contains(key) && (!given.contains(key) || given.at(key).is_null()))
      absent.push_back(fmt::format("{} {}", key, out.at(key).dump()));
  for (const auto& [key, value] : given.items())
    if (!value.is_null() || !out.contains(key)) out[key] = value;
  collapse_lists(out);
  translate(out, type);
  drop_unused_experts(out);
  drop_unused_latents(out);
  if (type.halves == LayerHalves::none) usual_layers(out);
  write_halves(out, type);
  if (!absent.empty())
    notes.push_back(fmt::format("sizes that the file leaves out are those of its class: {}", fmt::join(absent, ", ")));
  return {std::move(out), std::move(stated)};
}

}  // namespace stepcast
