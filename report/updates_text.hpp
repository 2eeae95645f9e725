#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// How updates met, and how stale they were, as a section of a report.
std::string updates_text(const UpdateOutcome& outcome);

/// Its figures, a name and a value each: "sent by a worker", "2.3 GiB a step".
std::vector<std::pair<std::string, std::string>> update_figures(const UpdateOutcome& outcome);
/// How stale gradients were, at most a dozen classes: "0 to 3" updates missed, and the share of the gradients.
std::vector<std::pair<std::string, double>> staleness_classes(const Staleness& staleness);

}  // namespace stepcast
