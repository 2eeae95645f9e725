#pragma once

#include <string>

#include "report/prediction.hpp"

namespace stepcast {

/// What surrounds the step, as a part of a page: goodput and what it is lost to, time, cost, energy and carbon of the
/// run, its phases, checkpoints and input. Empty where nothing of it was predicted.
std::string run_section(const Prediction& prediction);

}  // namespace stepcast
