#pragma once

#include <functional>
#include <vector>

#include "calibration/fit/collectives/points.hpp"

namespace stepcast::fit {

/// Values of the constants, and one standard deviation of their logarithms, by the curvature at the optimum.
struct Solution {
  std::vector<double> values, deviations;
  std::vector<double> place;  ///< y of each constant, to start another fit from
  double cost = 0;
};

/// Least Σ weight·ρ(ln(predicted/measured)) + Σ (y·drawn)² over the points that `used` admits, with ρ a soft L1 that
/// turns linear at 10 %, by Levenberg–Marquardt from each start; the best counts. The same input gives the same values.
Solution solve(const std::vector<Constant>& constants, const std::vector<Point>& points, const Profiles& shipped,
               const std::function<bool(const Point&)>& used, const std::vector<std::vector<double>>& starts);

}  // namespace stepcast::fit
