#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "fields/data_directory.hpp"
#include "models/workload/model.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kPresetFolder = "models/workload/presets";

}  // namespace

std::vector<std::string> model_ids() { return data_ids(kPresetFolder); }

std::shared_ptr<const Model> find_model(std::string_view id, const std::string& pointer, Diagnostics& diagnostics) {
  // A preset is read once a process; a faulty one throws each time it is asked for.
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Model>> loaded;
  const std::lock_guard lock(mutex);
  const std::string file = fmt::format("{}/{}.json", data_directory(kPresetFolder).native(), id);
  if (const auto known = loaded.find(file); known != loaded.end()) return known->second;
  // The id is looked up in the list and never put into a path unseen: it comes from a scenario.
  const std::vector<std::string> ids = model_ids();
  if (!std::binary_search(ids.begin(), ids.end(), id)) {
    diagnostics.error(pointer, fmt::format("no model \"{}\" among the presets", id), nearest_choice(id, ids));
    return nullptr;
  }
  Diagnostics own(file);
  const Json document = read_json(file, own);
  own.throw_if_faulty();
  auto model = std::make_shared<Model>(read_document<Model>(document, own));
  if (own.ok()) check_model(*model, "", own);
  own.throw_if_faulty();
  expand_layers(*model);
  return loaded.emplace(file, std::move(model)).first->second;
}

void expand_layers(Model& model) {
  if (!model.cnn) return;
  std::vector<CnnLayer> expanded;
  for (const CnnLayer& row : model.cnn->layers) {
    expanded.insert(expanded.end(), static_cast<std::size_t>(std::max(row.repeat, 1)), row);
    for (auto copy = expanded.end() - std::max(row.repeat, 1); copy != expanded.end(); ++copy) copy->repeat = 1;
  }
  model.cnn->layers = std::move(expanded);
}

void Codec<ModelChoice>::read(ModelChoice& out, const Json& in, const std::string& at, std::string_view, const Rules&,
                              Diagnostics& d) {
  if (in.is_string()) {
    out = {in.get<std::string>(), nullptr};
    return;
  }
  if (!in.is_object()) return detail::wrong_type(d, at, in, "the id of a preset, or a model (an object)");
  Model model;
  const std::size_t before = d.faults().size();
  Model::fields().read(model, in, at, d);
  if (d.faults().size() == before) {
    Model checked = model;
    // The workload may state a length: asked where both are known.
    if (checked.is_transformer()) checked.default_seq_len = std::max(1, checked.default_seq_len);
    check_model(checked, at, d);
  }
  if (d.faults().size() != before) return;
  expand_layers(model);
  out = {"", std::make_shared<const Model>(std::move(model))};
}

Json Codec<ModelChoice>::write(const ModelChoice& v, std::string_view) {
  return v.described ? Model::fields().write(*v.described) : Json(v.preset);
}

Json Codec<ModelChoice>::schema(std::string_view, const Rules&) {
  Json preset{{"type", "string"}, {"description", "id of a preset"}};
  return {{"anyOf", Json::array({std::move(preset), Model::fields().schema()})}};
}

}  // namespace stepcast
