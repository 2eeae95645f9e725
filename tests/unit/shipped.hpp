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

}  // namespace stepcast::testing
