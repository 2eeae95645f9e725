#include <map>

#include "explain/comparison.hpp"
#include "fields/dotted_path.hpp"
#include "models/scenario/at_size.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

/// Values that are no objects, by dotted path, in order.
void flatten(const Json& value, const std::string& path, std::vector<std::pair<std::string, Json>>& out) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, inner] : value.items()) flatten(inner, dotted_path(path, key), out);
  } else {
    out.emplace_back(path, value);
  }
}

/// Names that say nothing about the step.
bool is_label(const std::string& key) {
  return key == "name" || key == "description" || key == "$schema" || key == "scenario";
}

Json* find(Json& document, const std::string& path, bool make) {
  Json* at = &document;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const std::string key = path.substr(from, dot - from);
    if (!at->is_object() || (!make && !at->contains(key))) return nullptr;
    at = &(*at)[key];
    from = dot + 1;
  }
  return at;
}

/// A's document with one key as B has it.
Json with_key(Json document, const Json& after, const std::string& path) {
  Json theirs = after;
  if (const Json* value = find(theirs, path, false)) {
    if (Json* place = find(document, path, true)) *place = *value;
  } else {
    const std::size_t dot = path.rfind('.');
    Json* parent = dot == std::string::npos ? &document : find(document, path.substr(0, dot), false);
    if (parent) parent->erase(path.substr(dot == std::string::npos ? 0 : dot + 1));
  }
  // What follows from the device count must be free to follow again.
  if (path != "strategy.data_parallel") free_data_parallel(document);
  return document;
}

}  // namespace

std::vector<ChangedKey> changed_keys(const Json& before, const Json& after) {
  std::vector<std::pair<std::string, Json>> a, b;
  flatten(before, "", a);
  flatten(after, "", b);
  const std::map<std::string, Json> of_b(b.begin(), b.end()), of_a(a.begin(), a.end());
  std::vector<ChangedKey> out;
  for (const auto& [key, value] : a) {
    if (is_label(key)) continue;
    const auto found = of_b.find(key);
    if (found == of_b.end())
      out.push_back({key, value.dump(), "", std::nullopt, ""});
    else if (found->second != value)
      out.push_back({key, value.dump(), found->second.dump(), std::nullopt, ""});
  }
  for (const auto& [key, value] : b)
    if (!is_label(key) && !of_a.contains(key)) out.push_back({key, "", value.dump(), std::nullopt, ""});
  return out;
}

void find_effects_alone(std::vector<ChangedKey>& keys, const Json& before, const Json& after, const Catalog& catalog) {
  if (keys.empty()) return;
  const auto step_of = [&](const Json& document) {
    return predict_analytic(resolve(document, "A", {}, catalog), catalog, MemoryAdvice::none).step_time;
  };
  const Seconds base = step_of(before);
  for (ChangedKey& key : keys) {
    if (key.key.starts_with("run.")) continue;  // how it is predicted, not what
    try {
      key.alone = step_of(with_key(before, after, key.key)) - base;
    } catch (const InputError& error) {
      key.refusal = error.faults().empty() ? "refused" : error.faults().front().message;
    }
  }
}

}  // namespace stepcast
