#pragma once

#include <optional>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Steps that the scenario's stated work (tokens, samples or epochs) takes at its global batch; null when none is
/// stated. This version takes the stated work as given: batch-size efficiency is not modelled.
std::optional<double> steps_to_train(const Scenario& scenario);

}  // namespace stepcast
