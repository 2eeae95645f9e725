#pragma once

#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Changes that would make a scenario fit its devices' memory, least memory first, each with the peak that it gives:
/// `strategy.recompute = "full": 61.2 of 79.2 GiB`. Every one has been tried: the changed scenario was resolved (so it
/// is legal), lowered and its memory computed. Single changes; pairs only when no single change suffices; empty when
/// none does. Costs tens of lowerings, so it is asked for when a report needs it.
std::vector<std::string> memory_advice(const Scenario& scenario, const Catalog& catalog);

}  // namespace stepcast
