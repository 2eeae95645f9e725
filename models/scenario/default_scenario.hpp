#pragma once

#include <string>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A scenario of nothing but a model (as `workload.model` takes it) and servers: what a strategy is chosen for.
Json scenario_without_strategy(const Json& model, const std::string& node, int nodes);

/// A scenario with the strategy that the rules of docs/formats/scenario.md choose among those that have the keys its
/// own `strategy` states: the fastest that leaves room in memory, or a plainer one that is as fast, or what fits
/// nearest. A batch is chosen only where it has none. `description` says why. `file` is named in faults. Throws
/// InputError.
Json completed_scenario(const Json& scenario, const std::string& file, const Catalog& catalog);

/// A strategy that the rules chose.
struct ChosenStrategy {
  Json scenario;    ///< that has it
  std::string why;  ///< "chosen because …", a phrase for people
  bool fits = true;
  Bytes over;  ///< what it lacks on its fullest device, or beside it, where it does not fit
};

/// The same with another strategy in place of its own, in the same framework where that is stated: model, servers,
/// network, sequence length, precision and batch are taken as they stand. Throws InputError where no such strategy is
/// legal, or none fits memory.
ChosenStrategy with_default_strategy(const Json& scenario, const Catalog& catalog);

}  // namespace stepcast
