#pragma once

#include <string>

#include "report/prediction.hpp"

namespace stepcast {

/// What surrounds the step, for people: the run, its phases, input and facility, each only where it says something.
/// Empty without an outlook.
std::string outlook_text(const Prediction& prediction);

}  // namespace stepcast
