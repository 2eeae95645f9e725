#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast::testing {

/// A scenario of scenarios/, resolved against the shipped catalogue, with overrides.
inline Scenario shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  static const Catalog catalog = Catalog::standard({});
  return load_scenario(fmt::format("{}/scenarios/{}", STEPCAST_SOURCE_DIR, name), overrides, catalog);
}

/// A model preset, by its id.
inline std::shared_ptr<const Model> preset(std::string_view id) {
  Diagnostics diagnostics("test");
  auto model = find_model(id, "/workload/model", diagnostics);
  diagnostics.throw_if_faulty();
  return model;
}

}  // namespace stepcast::testing
