#pragma once

#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Nodes beside those that train: parameter servers on nodes of their own. They draw power and cost money for
/// as long as the training runs.
struct HelperNodes {
  Scenario scenario;  ///< of these nodes alone
  std::string what;   ///< "parameter servers"
  Watts draw;         ///< of all of them at the meter
};

std::vector<HelperNodes> helper_nodes(const Scenario& scenario, const Catalog& catalog);

Watts draw_of(const std::vector<HelperNodes>& helpers);

}  // namespace stepcast
