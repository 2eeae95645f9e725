#include "gui/view-models/own_parts.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "calibration/importers/models/huggingface.hpp"
#include "calibration/importers/onnx/import_onnx.hpp"
#include "gui/view-models/file_text.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

Json parsed_server(const std::string& text) {
  Diagnostics diagnostics("own server");
  Json out = parse_json(text, diagnostics);
  if (diagnostics.ok() && !out.is_object()) diagnostics.error("", "found " + describe(out) + ", expected an object");
  diagnostics.throw_if_faulty();
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
  const Json entry = parsed_server(text);
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
  const Json entry = parsed_server(text);
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

std::string own_model_text_of(const std::filesystem::path& file) {
  if (file.extension() != ".onnx") return text_of_file(file);
  ImportedModel imported = import_onnx(file, {});
  if (!imported.notes.empty()) imported.model["note"] = fmt::format("{}", fmt::join(imported.notes, "; "));
  return imported.model.dump(2) + "\n";
}

Json own_model(const std::string& text) {
  constexpr const char* kCalled = "own model";
  Diagnostics diagnostics(kCalled);
  Json entry = parse_huggingface(text, diagnostics);
  if (diagnostics.ok() && !entry.is_object())
    diagnostics.error("", "found " + describe(entry) + ", expected an object");
  diagnostics.throw_if_faulty();
  if (is_huggingface(entry)) {
    ImportedModel imported = import_huggingface(entry, {kCalled, "my-model"}, std::nullopt);
    if (!imported.notes.empty()) imported.model["note"] = fmt::format("{}", fmt::join(imported.notes, "; "));
    return std::move(imported.model);
  }
  const auto model = read_document<Model>(entry, diagnostics);
  if (diagnostics.ok()) check_model(model, "", diagnostics);
  diagnostics.throw_if_faulty();
  return entry;
}

}  // namespace stepcast
