#include "cli/scenario_document.hpp"

#include "cli/calibration_option.hpp"
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

bool is_analytic(const Json& document) {
  const Json::json_pointer fidelity("/run/fidelity");
  return document.is_object() && document.contains(fidelity) && document.at(fidelity) == name_of(Fidelity::analytic);
}

}  // namespace stepcast
