#pragma once

#include <string>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// Faults where a path, as `--set` names it, leads to a key that no scenario has: then no value of any other key makes
/// a point legal. By the schema of scenarios, so whatever a key may hold (an id, an object, an array) counts.
void require_scenario_path(const std::string& path, Diagnostics& diagnostics);

}  // namespace stepcast
