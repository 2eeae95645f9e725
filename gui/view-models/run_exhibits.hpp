#pragma once

#include <vector>

#include "gui/view-models/exhibit.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// What surrounds the step, as the report of `stepcast run` says it: the whole run with what is lost, its phases, what
/// brings samples, and how updates meet. Each only where there is something to say.
std::vector<Exhibit> run_exhibits(const Prediction& prediction);

/// That training waits for its input, for what, and what would help; empty where it does not.
QString input_warning(const Prediction& prediction);

}  // namespace stepcast
