#pragma once

#include <functional>
#include <vector>

#include "calibration/fit/collectives/points.hpp"
#include "calibration/fit/prior_fit.hpp"

namespace stepcast::fit {

/// Fits the constants to the points that `used` admits (prior_fit.hpp), from each start. The same input gives the same
/// values.
PriorFit solve(const std::vector<Constant>& constants, const std::vector<Point>& points, const Profiles& shipped,
               const std::function<bool(const Point&)>& used, const std::vector<std::vector<double>>& starts);

}  // namespace stepcast::fit
