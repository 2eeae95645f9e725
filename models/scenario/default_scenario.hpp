#pragma once

#include <string>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// default_scenario of a model that is described (as `workload.model` takes it) and has no preset. Throws InputError.
Json default_scenario_of(const Json& model, const std::string& node, int nodes, const Catalog& catalog);

/// A scenario with the strategy that default_scenario's rules choose for it, in place of its own: model, servers,
/// network, sequence length, precision and batch are taken as they stand, and a batch is chosen only where it has none.
/// Throws InputError where no such strategy is legal, or none fits memory.
Json with_default_strategy(const Json& scenario, const Catalog& catalog);

}  // namespace stepcast
