#pragma once

#include <string>

#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// How updates met, and how stale they were, as a section of a report.
std::string updates_text(const UpdateOutcome& outcome);

}  // namespace stepcast
