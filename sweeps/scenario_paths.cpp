#include "sweeps/scenario_paths.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

using Schemas = std::vector<const Json*>;

bool is_index(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A schema, or what it chooses from.
void add_choices(const Json& schema, Schemas& out) {
  if (const auto choices = schema.find("anyOf"); choices != schema.end()) {
    for (const Json& choice : *choices) add_choices(choice, out);
  } else {
    out.push_back(&schema);
  }
}

/// What a key below any of these may hold; nothing where none has it.
Schemas below(const Schemas& schemas, const std::string& key) {
  Schemas out;
  for (const Json* schema : schemas) {
    if (const auto keys = schema->find("properties"); keys != schema->end() && keys->contains(key))
      add_choices(keys->at(key), out);
    if (const auto any = schema->find("additionalProperties"); any != schema->end() && any->is_object())
      add_choices(*any, out);
    if (const auto items = schema->find("items"); items != schema->end() && is_index(key)) add_choices(*items, out);
  }
  return out;
}

std::vector<std::string> keys_of(const Schemas& schemas) {
  std::vector<std::string> out;
  for (const Json* schema : schemas)
    if (const auto keys = schema->find("properties"); keys != schema->end())
      for (const auto& [key, value] : keys->items()) out.push_back(key);
  return out;
}

}  // namespace

void require_scenario_path(const std::string& path, Diagnostics& diagnostics) {
  static const Json kScenario = ScenarioSpec::fields().schema();
  Schemas at{&kScenario};
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    const std::string key = path.substr(start, dot - start);
    Schemas next = below(at, key);
    if (next.empty()) {
      const std::vector<std::string> keys = keys_of(at);
      const std::string owner = start == 0 ? "a scenario" : path.substr(0, start - 1);
      return diagnostics.error(
          path, keys.empty() ? fmt::format("{} has no parts", owner) : fmt::format("{} has no key \"{}\"", owner, key),
          keys.empty() ? fmt::format("--set {}=…", owner) : nearest_choice(key, keys));
    }
    at = std::move(next);
    start = dot + 1;
  }
}

}  // namespace stepcast
