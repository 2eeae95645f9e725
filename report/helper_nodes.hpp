#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// Nodes beside those that train: parameter servers on nodes of their own, actors. They draw power and cost money for
/// as long as the training runs.
struct HelperNodes {
  Scenario scenario;  ///< of these nodes alone
  std::string what;   ///< "parameter servers", "actors"
  Watts draw;         ///< of all of them at the meter
};

/// Helpers of a scenario; `updates`: what its updates' simulation says of their idle time.
std::vector<HelperNodes> helper_nodes(const Scenario& scenario, const Catalog& catalog,
                                      const std::optional<UpdateOutcome>& updates);

/// What they cost; nothing for those without a price.
DollarsPerSecond cost_of(const std::vector<HelperNodes>& helpers, const Catalog& catalog);

Watts draw_of(const std::vector<HelperNodes>& helpers);

}  // namespace stepcast
