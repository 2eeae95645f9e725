#include "calibration/importers/models/huggingface_halves.hpp"

#include <algorithm>
#include <string>

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
  const std::string key(halves_key(LayerHalves::kinds));
  std::string out;
  if (!config.contains(key) || !config.at(key).is_array()) return {};
  for (const Json& kind : config.at(key)) {
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

std::string letters_of(Json& config, LayerHalves halves) {
  switch (halves) {
    case LayerHalves::indices:
      return with_feed_forward(mixed_by_indices(config), 1, '-');
    case LayerHalves::kinds:
      take_shared_mlp(config);
      return with_feed_forward(mixed_by_kinds(config), 1, count_in(config, "num_local_experts") > 1 ? 'E' : '-');
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

}  // namespace

void write_halves(Json& config, LayerHalves halves) {
  if (halves == LayerHalves::none || halves == LayerHalves::letters) return;
  const std::string letters = letters_of(config, halves);
  if (letters.empty()) return;
  config["hybrid_override_pattern"] = letters;
  config["num_hidden_layers"] = letters.size();
  config.erase("attn_layer_indices");
  config.erase(std::string(halves_key(LayerHalves::kinds)));
}

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
    case LayerHalves::letters:
      break;
  }
  return "hybrid_override_pattern";
}

}  // namespace stepcast
