#pragma once

#include <random>

#include "calibration/fit/cluster/rate_fit.hpp"

namespace stepcast {

/// As many samples as a row has, drawn from them with replacement.
RowSamples redrawn(const RowSamples& samples, std::mt19937_64& random);

/// Standard normal by Box and Muller: the same on every system, which std::normal_distribution is not.
double normal_draw(std::mt19937_64& random);

}  // namespace stepcast
