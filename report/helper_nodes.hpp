#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/helper_kinds.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// Nodes beside those that train: parameter servers on nodes of their own, actors. They draw power and cost money for
/// as long as the training runs.
struct HelperNodes {
  HelperRole role;
  Scenario scenario;  ///< of these nodes alone
  Watts draw;         ///< of all of them at the meter, mean
  Watts device_peak;  ///< of one of their devices
  /// "parameter servers", "actors".
  [[nodiscard]] std::string what() const { return std::string(name_of(role)); }
};

/// Helpers of a scenario; `updates`: what its updates' simulation says of their idle time.
std::vector<HelperNodes> helper_nodes(const Scenario& scenario, const Catalog& catalog,
                                      const std::optional<UpdateOutcome>& updates);

Watts draw_of(const std::vector<HelperNodes>& helpers);

}  // namespace stepcast
