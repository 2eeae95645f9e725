#include "calibration/fit/prior_fit.hpp"

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {

constexpr double kOutlier = 0.1;  // |ln| from which a row counts linearly
constexpr double kFarOff = 20;    // residual of a prediction that is no number, so that the step is refused

/// Half of its square is the soft L1 loss.
double bent(double residual) {
  const double finite = std::isfinite(residual) ? residual : kFarOff;
  const double relative = finite / kOutlier;
  return std::copysign(kOutlier * std::sqrt(2 * (std::sqrt(1 + relative * relative) - 1)), finite);
}

/// Residuals of the rows, then of the priors.
class Problem {
 public:
  using Scalar = double;
  enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

  Problem(const std::vector<PriorConstant>& constants, const PriorFitRows& rows, const PriorFitOptions& options)
      : constants_(constants), rows_(rows), options_(options) {}

  [[nodiscard]] int NumResiduals() const { return static_cast<int>(rows_.weights.size() + constants_.size()); }
  [[nodiscard]] int NumParameters() const { return static_cast<int>(constants_.size()); }

  /// Residuals that are not left out.
  [[nodiscard]] int counted() const {
    const auto left_out = std::count(rows_.weights.begin(), rows_.weights.end(), 0.0);
    return NumResiduals() - static_cast<int>(left_out);
  }

  bool operator()(const double* y, double* residuals, double* jacobian) const {
    const std::vector<double> place(y, y + constants_.size());
    std::vector<double> logs(rows_.weights.size(), 0);
    rows_.predict(values_at(constants_, place), -1, logs.data());
    bend(logs, residuals);
    double* priors = residuals + rows_.weights.size();
    for (std::size_t c = 0; c < constants_.size(); ++c) priors[c] = options_.drawn * (y[c] - constants_[c].centre);
    if (jacobian != nullptr) differentiate(place, logs, residuals, jacobian);
    return true;
  }

 private:
  void bend(const std::vector<double>& logs, double* residuals) const {
    for (std::size_t i = 0; i < logs.size(); ++i) residuals[i] = std::sqrt(rows_.weights[i]) * bent(logs[i]);
  }

  void differentiate(const std::vector<double>& place, const std::vector<double>& logs, const double* residuals,
                     double* jacobian) const {
    const auto all = static_cast<std::size_t>(NumResiduals());
    std::fill(jacobian, jacobian + all * constants_.size(), 0.0);
    std::vector<double> moved_residuals(logs.size());
    for (std::size_t c = 0; c < constants_.size(); ++c) {
      std::vector<double> moved_place = place;
      moved_place[c] += options_.step;
      std::vector<double> moved = logs;
      rows_.predict(values_at(constants_, moved_place), static_cast<int>(c), moved.data());
      bend(moved, moved_residuals.data());
      double* column = jacobian + c * all;
      for (std::size_t i = 0; i < logs.size(); ++i) column[i] = (moved_residuals[i] - residuals[i]) / options_.step;
      column[logs.size() + c] = options_.drawn;
    }
  }

  const std::vector<PriorConstant>& constants_;
  const PriorFitRows& rows_;
  const PriorFitOptions& options_;
};

/// Standard deviations of the constants' logarithms from the curvature: the inverse of JᵀJ, scaled by the mean square
/// of the residuals.
std::vector<double> deviations_of(const Problem& problem, const std::vector<PriorConstant>& constants,
                                  const Eigen::VectorXd& y) {
  const int rows = problem.NumResiduals(), columns = problem.NumParameters();
  Eigen::VectorXd residuals(rows);
  Eigen::MatrixXd jacobian(rows, columns);
  problem(y.data(), residuals.data(), jacobian.data());
  const double variance = residuals.squaredNorm() / std::max(1, problem.counted() - columns);
  const Eigen::MatrixXd inverse =
      (jacobian.transpose() * jacobian).ldlt().solve(Eigen::MatrixXd::Identity(columns, columns));
  std::vector<double> out(static_cast<std::size_t>(columns));
  for (int i = 0; i < columns; ++i)
    out[static_cast<std::size_t>(i)] =
        constants[static_cast<std::size_t>(i)].spread * std::sqrt(std::max(0.0, variance * inverse(i, i)));
  return out;
}

}  // namespace

std::vector<bool> told_by_rows(const std::vector<double>& spreads, const PriorFit& fit) {
  constexpr double kNarrower = 0.95, kMoved = 0.5;
  double untold = 0;
  for (std::size_t i = 0; i < spreads.size(); ++i) untold = std::max(untold, fit.deviations[i] / spreads[i]);
  std::vector<bool> out;
  for (std::size_t i = 0; i < spreads.size(); ++i)
    out.push_back(fit.deviations[i] < kNarrower * untold * spreads[i] || std::abs(fit.place[i]) > kMoved);
  return out;
}

std::vector<double> values_at(const std::vector<PriorConstant>& constants, const std::vector<double>& place) {
  std::vector<double> out(constants.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const PriorConstant& one = constants[i];
    out[i] = std::clamp(one.prior * std::exp(one.spread * place[i]), one.least, one.most);
  }
  return out;
}

PriorFit fit_with_priors(const std::vector<PriorConstant>& constants, const PriorFitRows& rows,
                         const std::vector<std::vector<double>>& starts, const PriorFitOptions& options) {
  const Problem problem(constants, rows, options);
  PriorFit best;
  Eigen::VectorXd place;
  for (const std::vector<double>& start : starts) {
    ceres::TinySolver<Problem> solver;
    solver.options.max_num_iterations = options.most_iterations;
    Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(start.data(), static_cast<Eigen::Index>(start.size()));
    const auto summary = solver.Solve(problem, &y);
    if (place.size() > 0 && summary.final_cost >= best.cost) continue;
    best.cost = summary.final_cost;
    place = y;
  }
  best.place.assign(place.data(), place.data() + place.size());
  best.values = values_at(constants, best.place);
  best.deviations = deviations_of(problem, constants, place);
  return best;
}

}  // namespace stepcast
