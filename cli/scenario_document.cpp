#include "cli/scenario_document.hpp"

#include <fmt/format.h>

#include "cli/calibration_option.hpp"
#include "fields/option_fault.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

ScenarioDocument read_scenario(const std::string& file, const std::vector<std::string>& overrides) {
  Diagnostics diagnostics(file);
  ScenarioDocument out{file, read_json(file, diagnostics)};
  diagnostics.throw_if_faulty();
  apply_overrides(out, overrides);
  // Workers and array tasks know the document, not where its file lies.
  anchor_calibrations(out.json, file);
  check_named_calibrations(out.json);
  return out;
}

void apply_overrides(ScenarioDocument& scenario, const std::vector<std::string>& overrides) {
  Diagnostics diagnostics(scenario.file);
  for (const std::string& assignment : overrides) apply_override(scenario.json, assignment, diagnostics);
  diagnostics.throw_if_faulty();
}

void add_option_override(std::vector<std::string>& overrides, const std::string& option, const std::string& path,
                         const std::string& value) {
  if (value.empty()) return;
  const std::string assignment = path + "=" + value;
  for (const std::string& other : overrides)
    if (other.starts_with(path + "=") && other != assignment)
      refuse_option(option, fmt::format("is {}, and --set {} says otherwise", value, other), "leave one of them out");
  overrides.push_back(assignment);
}

Json settings_of(const Scenario& scenario) {
  const Json all = to_json(scenario);
  Json out = Json::object();
  for (const char* part : {"cluster", "workload", "strategy", "run"}) out[part] = all.at(part);
  return out;
}

bool is_analytic(const Json& document) {
  const Json::json_pointer fidelity("/run/fidelity");
  return document.is_object() && document.contains(fidelity) && document.at(fidelity) == name_of(Fidelity::analytic);
}

}  // namespace stepcast
