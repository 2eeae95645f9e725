#pragma once

#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

struct Scenario;

/// A scenario as JSON, before it is resolved, and the name that messages call it by.
struct ScenarioDocument {
  std::string file;
  Json json;
};

/// Reads a scenario file and applies `--set` overrides. Throws InputError with every fault of both.
ScenarioDocument read_scenario(const std::string& file, const std::vector<std::string>& overrides);

/// Whether a document asks for the closed form. Anything odd is left to whoever resolves it.
bool is_analytic(const Json& document);

/// Sets overrides in a document. Throws InputError.
void apply_overrides(ScenarioDocument& scenario, const std::vector<std::string>& overrides);

/// Adds the override that an option of its own stands for, `--fidelity` for `run.fidelity`. Throws InputError where
/// --set has another value for it, which would go unread.
void add_option_override(std::vector<std::string>& overrides, const std::string& option, const std::string& path,
                         const std::string& value);

/// What a resolved scenario consists of, every default spelt out: cluster, workload, strategy and run.
Json settings_of(const Scenario& scenario);

}  // namespace stepcast
