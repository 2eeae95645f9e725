#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace stepcast {

/// One constant that a fit looks for, between bounds that keep it physical.
struct FreeConstant {
  std::string name;
  double start = 0, least = 0, most = 0;
};

/// Writes ln(predicted / measured) of every row for the constants' values, in their order.
using LogResiduals = std::function<void(const std::vector<double>& values, double* residuals)>;

struct RobustFitOptions {
  int starts = 4;              ///< the given values, and random ones between the bounds
  double outlier_scale = 0.1;  ///< |ln| from which a row counts linearly (soft L1)
  int most_iterations = 60;
};

struct RobustFit {
  std::vector<double> values;
  double cost = 0;  ///< sum of the loss over all rows
};

/// Values with the least robust loss Σ 2s²(√(1 + (r/s)²) − 1), by trust-region steps from several starting points (a
/// single start gets stuck where one kernel choice beats another). The same input gives the same values. Throws
/// std::logic_error when a start lies outside of its bounds.
RobustFit fit_robustly(const std::vector<FreeConstant>& constants, std::size_t rows, const LogResiduals& residuals,
                       const RobustFitOptions& options = {});

}  // namespace stepcast
