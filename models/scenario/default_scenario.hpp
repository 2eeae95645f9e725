#pragma once

#include <string>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// default_scenario of a model that is described (as `workload.model` takes it) and has no preset. Throws InputError.
Json default_scenario_of(const Json& model, const std::string& node, int nodes, const Catalog& catalog);

}  // namespace stepcast
