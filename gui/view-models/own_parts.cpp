#include "gui/view-models/own_parts.hpp"

#include <algorithm>
#include <array>

#include "hardware-catalog/catalog.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

Json parsed(const std::string& text, const std::string& what) {
  Diagnostics diagnostics(what);
  Json out = parse_json(text, diagnostics);
  if (diagnostics.ok() && !out.is_object()) diagnostics.error("", "found " + describe(out) + ", expected an object");
  diagnostics.throw_if_faulty();
  return out;
}

/// The shape that a config.json of a decoder states, in our keys. Names: Hugging Face transformers, LlamaConfig and its
/// kin (MistralConfig, MixtralConfig, Qwen2Config).
Json from_hugging_face(const Json& config) {
  Json shape = Json::object();
  const auto take = [&](const char* theirs, const char* ours) {
    if (config.contains(theirs) && config[theirs].is_number()) shape[ours] = config[theirs];
  };
  take("num_hidden_layers", "layers");
  take("hidden_size", "hidden");
  take("intermediate_size", "ffn_hidden");
  take("num_attention_heads", "heads");
  take("num_key_value_heads", "kv_heads");
  take("head_dim", "head_dim");
  take("vocab_size", "vocab");
  take("num_local_experts", "experts");
  take("num_experts_per_tok", "top_k");
  if (shape.contains("experts")) shape["moe_ffn_hidden"] = config.value("moe_intermediate_size", shape["ffn_hidden"]);
  shape["gated_mlp"] = config.value("hidden_act", "silu") == "silu";
  shape["tied_embeddings"] = config.value("tie_word_embeddings", false);
  const std::string kind = config.value("model_type", "model");
  Json out{{"id", kind}, {"title", config.value("_name_or_path", kind)}, {"family", "decoder"}};
  out["transformer"] = std::move(shape);
  if (config.contains("max_position_embeddings"))
    out["default_seq_len"] = std::min(config["max_position_embeddings"].get<long>(), 8192L);
  return out;
}

}  // namespace

std::string own_server_text(const Catalog& catalog, const std::string& like) {
  const std::string base = like.empty() ? catalog.ids("nodes").front() : like;
  Json entry = catalog.show("nodes", base);
  entry["id"] = "my-" + base;
  entry["note"] = "Own server, from " + base;
  return entry.dump(2) + "\n";
}

namespace {

/// What a map of an entry says of a key.
Json stated(const Json& entry, const char* map, const std::string& key) {
  const Json all = entry.value(map, Json::object());
  if (!all.is_object()) return nullptr;
  return all.contains(key) ? all[key] : all.value("all", Json());
}

/// The figures of an entry by the names that its evidence and sources have for them.
Json figures_of(const Json& entry) {
  Json out = entry;
  for (const char* none : {"id", "title", "note", "labels", "figures", "sources", "evidence"}) out.erase(none);
  if (entry.contains("figures") && entry["figures"].is_object()) out.update(entry["figures"]);
  return out;
}

}  // namespace

std::string with_own_evidence(const Json& before, const std::string& text) {
  const Json entry = parsed(text, "own server");
  Json out = entry;
  const Json figures = figures_of(entry), figures_before = figures_of(before);
  for (const auto& [name, value] : figures.items()) {
    if (figures_before.contains(name) && figures_before[name] == value) continue;
    const auto same = [&, &key = name](const char* map) { return stated(entry, map, key) == stated(before, map, key); };
    if (!same("evidence") || !same("sources")) continue;
    const std::array<std::pair<const char*, std::string>, 2> says{
        {{"evidence", "estimated"}, {"sources", "changed by hand from " + before.value("id", std::string("another"))}}};
    for (const auto& [map, words] : says) {
      if (!out[map].is_object()) continue;
      // What is said of its parts was said of the figure as it was.
      for (auto part = out[map].begin(); part != out[map].end();)
        part = part.key().starts_with(name + ".") ? out[map].erase(part) : std::next(part);
      out[map][name] = words;
    }
  }
  return out == entry ? text : out.dump(2) + "\n";
}

std::string id_of_own_part(const std::string& text) {
  const Json entry = parsed(text, "own server");
  std::string id = entry.contains("id") && entry["id"].is_string() ? entry["id"].get<std::string>() : "";
  const bool name = !id.empty() && id.front() != '.' && std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  });
  if (!name)
    throw InputError({{"own server", "/id", "found \"" + id + "\", expected letters, digits, - . and _", "my-server"}});
  return id;
}

std::string own_model_text(const Json& model_in_scenario) {
  if (model_in_scenario.is_object()) return model_in_scenario.dump(2) + "\n";
  Diagnostics ignored("model");
  const std::string preset = model_in_scenario.is_string() ? model_in_scenario.get<std::string>() : "llama3-8b";
  const auto model = find_model(preset, "", ignored);
  if (!model) return "{}\n";
  Json out = Model::fields().write(*model);
  for (const char* key : {"sources", "note", "published_parameters"}) out.erase(key);
  out["id"] = "my-" + preset;
  return out.dump(2) + "\n";
}

Json own_model(const std::string& text) {
  Json entry = parsed(text, "own model");
  if (entry.contains("num_hidden_layers") || entry.contains("model_type")) entry = from_hugging_face(entry);
  Diagnostics diagnostics("own model");
  const auto model = read_document<Model>(entry, diagnostics);
  if (diagnostics.ok()) check_model(model, "", diagnostics);
  diagnostics.throw_if_faulty();
  return entry;
}

}  // namespace stepcast
