#include "calibration/importers/models/huggingface_layout.hpp"

#include <fmt/format.h>

#include <array>

namespace stepcast {

namespace {

/// Without these a file describes no model of its own.
constexpr auto kSizes = std::to_array<std::string_view>({"hidden_size", "num_hidden_layers", "num_attention_heads",
                                                         "intermediate_size", "vocab_size", "num_local_experts"});
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

/// What a type says the other way round, or as a product.
void translate(Json& config) {
  const auto flag = [&](const char* key, bool value) { return config.contains(key) && config.at(key) == value; };
  if (config.contains("no_bias") && config.at("no_bias").is_boolean()) {
    config["bias"] = !config.at("no_bias").get<bool>();
    config.erase("no_bias");
  }
  if (config.contains("expansion_ratio") && config.at("expansion_ratio").is_number() &&
      config.contains("hidden_size") && config.at("hidden_size").is_number()) {
    config["intermediate_size"] = config.at("expansion_ratio").get<double>() * config.at("hidden_size").get<double>();
    config.erase("expansion_ratio");
  }
  if (flag("multi_query_attention", false)) config.erase("num_key_value_heads");
  if (config.contains("attention_types") && config.at("attention_types").dump().find("local") == std::string::npos)
    config.erase("sliding_window");
}

}  // namespace

Json usual_layout(const Json& config, const HuggingFaceType& type, std::vector<std::string>& notes) {
  Json given = config;
  lift_sections(given);
  rename(given, Json::parse(type.names));
  Json out = Json::parse(type.defaults);
  std::vector<std::string> absent;
  for (const std::string_view size : kSizes)
    if (const std::string key(size); out.contains(key) && (!given.contains(key) || given.at(key).is_null()))
      absent.push_back(fmt::format("{} {}", key, out.at(key).dump()));
  for (const auto& [key, value] : given.items())
    if (!value.is_null() || !out.contains(key)) out[key] = value;
  translate(out);
  if (!absent.empty())
    notes.push_back(fmt::format("sizes that the file leaves out are those of its class: {}", fmt::join(absent, ", ")));
  return out;
}

}  // namespace stepcast
