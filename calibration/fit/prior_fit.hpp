#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stepcast {

/// A constant that data only inform in part: its logarithm is drawn to a prior's. value = prior · exp(spread · y), kept
/// between bounds that are physical, and y is drawn to `centre`.
struct PriorConstant {
  std::string name;
  double prior = 0;
  double spread = 0;  ///< standard deviation of the logarithm: what the prior's sources differ by
  double least = 0, most = 0;
  double centre = 0;  ///< of y; refits that ask how far the prior itself may be off draw it at random
};

/// Rows of measurements that a fit has to predict.
struct PriorFitRows {
  std::vector<double> weights;  ///< of the rows; 0: left out
  /// Writes ln(predicted / measured) of the rows that depend on a constant (by index; every row: −1) for the
  /// constants' values; leaves the others as they are.
  std::function<void(const std::vector<double>& values, int constant, double* residuals)> predict;
};

struct PriorFitOptions {
  /// How strongly one spread of a prior draws: as a row that is so far off, as |ln|. Fits whose rows inform most of
  /// their constants draw less.
  double drawn = 0.1;
  double step = 1e-3;        ///< of y, for derivatives
  int most_iterations = 30;  ///< from each start
};

/// What a fit found.
struct PriorFit {
  std::vector<double> values;
  std::vector<double> deviations;  ///< one standard deviation of the logarithms, by the curvature at the optimum
  std::vector<double> place;       ///< y of each constant, to start another fit from
  double cost = 0;
};

/// Least Σ weight·ρ(ln(predicted/measured)) + Σ ((y − centre)·drawn)², with ρ a soft L1 that turns linear at 10 %, by
/// Levenberg–Marquardt from each start (values of y); the best counts. The same input gives the same values.
PriorFit fit_with_priors(const std::vector<PriorConstant>& constants, const PriorFitRows& rows,
                         const std::vector<std::vector<double>>& starts, const PriorFitOptions& options = {});

/// Whether rows say anything of each constant of a fit, by the spreads of their priors: its interval is narrower than
/// its prior's (intervals are spreads times one factor where no row says anything, the largest that any constant has),
/// or it moved half a spread away.
std::vector<bool> told_by_rows(const std::vector<double>& spreads, const PriorFit& fit);

/// Values of constants at a place.
std::vector<double> values_at(const std::vector<PriorConstant>& constants, const std::vector<double>& place);

}  // namespace stepcast
