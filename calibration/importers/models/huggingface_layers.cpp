#include "calibration/importers/models/huggingface_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>

namespace stepcast {

namespace {

constexpr const char* kSliding = "sliding_attention";

bool is_list(const Json& config, const char* key) { return config.contains(key) && config.at(key).is_array(); }

std::size_t layers_of(const Json& config) {
  const auto layers = config.find("num_hidden_layers");
  return layers != config.end() && layers->is_number_unsigned() ? layers->get<std::size_t>() : 0;
}

/// MiMo's pattern: 1 for a layer with the window.
void take_pattern(Json& config) {
  if (!is_list(config, "hybrid_layer_pattern") || config.contains("layer_types")) return;
  Json types = Json::array();
  for (const Json& local : config.at("hybrid_layer_pattern")) types.push_back(local == 1 ? kSliding : "full_attention");
  config.erase("hybrid_layer_pattern");
  config["layer_types"] = types;
}

/// Lists of Step's files go on to the layers that predict further tokens.
void trim_lists(Json& config) {
  const std::size_t layers = layers_of(config);
  for (const char* key : {"layer_types", "mlp_layer_types"}) {
    if (layers == 0 || !is_list(config, key) || config.at(key).size() <= layers) continue;
    Json& list = config.at(key);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(layers), list.end());
  }
}

/// Numbers of a text "3,4,5", or of a list.
std::optional<std::set<std::size_t>> numbers_in(const Json& value) {
  std::set<std::size_t> out;
  if (value.is_array()) {
    for (const Json& one : value) {
      if (!one.is_number_unsigned()) return std::nullopt;
      out.insert(one.get<std::size_t>());
    }
    return out;
  }
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    std::size_t number = 0;
    const auto [next, fault] = std::from_chars(at, end, number);
    if (fault != std::errc{} || (next != end && *next != ',')) return std::nullopt;
    out.insert(number);
    at = next == end ? end : next + 1;
  }
  return out;
}

/// Step lists the layers with experts, others those without; where the first are without, how many those are.
void take_expert_layers(Json& config) {
  const std::size_t layers = layers_of(config);
  for (const auto& [key, sparse] : {std::pair{"moe_layers_enum", true}, std::pair{"mlp_only_layers", false}}) {
    if (!config.contains(key)) continue;
    const std::optional<std::set<std::size_t>> listed = numbers_in(config.at(key));
    if (!listed || listed->empty() || *listed->rbegin() >= layers) continue;
    const std::size_t dense = sparse ? *listed->begin() : *listed->rbegin() + 1;
    if (listed->size() != (sparse ? layers - dense : dense)) continue;
    config.erase(key);
    config["first_k_dense_replace"] = dense;
  }
}

/// Of a list of every layer's heads the windowed layers' where all others have the model's.
void take_heads_by_layer(Json& config) {
  constexpr const char* kKey = "num_attention_heads_per_layer";
  if (!is_list(config, kKey) || !is_list(config, "layer_types") || !config.contains("num_attention_heads")) return;
  const Json& heads = config.at(kKey);
  const Json& types = config.at("layer_types");
  std::set<Json> local, others{config.at("num_attention_heads")};
  for (std::size_t layer = 0; layer < std::min(heads.size(), types.size()); ++layer)
    (types[layer] == kSliding ? local : others).insert(heads[layer]);
  if (local.size() != 1 || others.size() != 1) return;
  config["num_sliding_attention_heads"] = *local.begin();
  config.erase(kKey);
}

/// Step's and MiMo's of layers with the window.
void take_window_heads(Json& config) {
  if (config.contains("attention_other_setting") && config.at("attention_other_setting").is_object()) {
    const Json other = config.at("attention_other_setting");
    config.erase("attention_other_setting");
    if (other.contains("num_attention_heads")) config["num_sliding_attention_heads"] = other.at("num_attention_heads");
    if (other.contains("num_attention_groups")) config["swa_num_key_value_heads"] = other.at("num_attention_groups");
  }
  if (config.contains("swa_num_attention_heads")) {
    const Json heads = config.at("swa_num_attention_heads");
    config.erase("swa_num_attention_heads");
    config["num_sliding_attention_heads"] = heads;
  }
}

}  // namespace

void usual_layers(Json& config) {
  take_pattern(config);
  trim_lists(config);
  take_expert_layers(config);
  take_heads_by_layer(config);
  take_window_heads(config);
}

void loop_layers(ConfigReader& reader, Json& shape, std::vector<std::string>& notes) {
  const auto passes = reader.whole("total_ut_steps");
  if (!passes || *passes == 1) return;
  const int layers = shape.value("layers", 0);
  shape["hidden_groups"] = layers;
  shape["layers"] = layers * *passes;
  notes.push_back(fmt::format(
      "total_ut_steps: a sample goes {} times through the {} layers, counted as {} layers that share weights; losses "
      "behind earlier passes are not counted",
      *passes, layers, layers * *passes));
}

}  // namespace stepcast
