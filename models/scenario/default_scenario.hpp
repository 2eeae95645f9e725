#pragma once

#include <string>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// default_scenario of a model that is described (as `workload.model` takes it) and has no preset. Throws InputError.
Json default_scenario_of(const Json& model, const std::string& node, int nodes, const Catalog& catalog);

/// A strategy that the rules chose.
struct ChosenStrategy {
  Json scenario;    ///< that has it
  std::string why;  ///< "chosen because …", a phrase for people
  bool fits = true;
  Bytes over;  ///< what it lacks on its fullest device, or beside it, where it does not fit
};

/// A scenario with the strategy that default_scenario's rules choose for it, in place of its own: model, servers,
/// network, sequence length, precision and batch are taken as they stand, and a batch is chosen only where it has none.
/// Throws InputError where no such strategy is legal, or none fits memory.
ChosenStrategy with_default_strategy(const Json& scenario, const Catalog& catalog);

}  // namespace stepcast
