#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::test {

/// A scenario of scenarios/, resolved against the shipped catalogue, with overrides.
inline Scenario shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return load_scenario(fmt::format("{}/scenarios/{}", STEPCAST_SOURCE_DIR, name), overrides, catalog());
}

/// What is said where a shipped scenario with overrides is refused; "none" where it is not.
inline std::string refusal_of(const std::string& name, const std::vector<std::string>& overrides) {
  try {
    shipped(name, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

/// A model preset, by its id.
inline std::shared_ptr<const Model> preset(std::string_view id) {
  Diagnostics diagnostics("test");
  auto model = find_model(id, "/workload/model", diagnostics);
  diagnostics.throw_if_faulty();
  return model;
}

/// Faults of a preset that `change` has changed, one a line: pointer and message.
template <class Change>
std::string faults_of(std::string_view id, Change change) {
  Model model = *preset(id);
  change(model);
  Diagnostics diagnostics("test");
  check_model(model, "", diagnostics);
  std::string out;
  for (const Fault& fault : diagnostics.faults()) out += fault.pointer + ": " + fault.message + "\n";
  return out;
}

}  // namespace stepcast::test
