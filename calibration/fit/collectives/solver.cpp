#include "calibration/fit/collectives/solver.hpp"

#include <ceres/tiny_solver.h>

#include <cmath>

namespace stepcast::fit {

namespace {

// |ln| from which a row counts linearly, and how strongly one standard deviation of a prior draws: as a row that is 18
// % off.
constexpr double kOutlier = 0.1;
constexpr double kDrawn = 0.18;
constexpr double kStep = 1e-4;  // of y, for derivatives
constexpr int kMostIterations = 30;

/// Half of its square is the soft L1 loss.
double bent(double residual) {
  const double relative = residual / kOutlier;
  return std::copysign(kOutlier * std::sqrt(2 * (std::sqrt(1 + relative * relative) - 1)), residual);
}

/// Residuals of the used points, then of the priors.
class Problem {
 public:
  using Scalar = double;
  enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

  Problem(const std::vector<Constant>& constants, const std::vector<Point>& points, const Profiles& shipped,
          const std::function<bool(const Point&)>& used)
      : constants_(constants), points_(points), shipped_(shipped), times_(points.size()) {
    row_.assign(points.size(), -1);
    std::vector<Point> unused;
    for (const Setting& setting : settings_of(points)) {
      Setting kept;
      for (const std::size_t i : setting.points) {
        if (!used(points[i])) continue;
        row_[i] = rows_++;
        kept.points.push_back(i);
      }
      if (!kept.points.empty()) settings_.push_back(std::move(kept));
    }
  }

  [[nodiscard]] int NumResiduals() const { return rows_ + static_cast<int>(constants_.size()); }
  [[nodiscard]] int NumParameters() const { return static_cast<int>(constants_.size()); }
  [[nodiscard]] std::vector<double> values(const double* y) const {
    std::vector<double> out(constants_.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = constants_[i].prior * std::exp(constants_[i].spread * y[i]);
    return out;
  }

  bool operator()(const double* y, double* residuals, double* jacobian) const {
    std::vector<double> now = values(y);
    Profiles profiles = shipped_;
    apply(constants_, now, profiles);
    const int all = NumResiduals();
    for (const Setting& setting : settings_) write(setting, profiles, residuals);
    for (std::size_t c = 0; c < constants_.size(); ++c) residuals[rows_ + static_cast<int>(c)] = kDrawn * y[c];
    if (jacobian == nullptr) return true;
    std::fill(jacobian, jacobian + static_cast<std::size_t>(all) * constants_.size(), 0.0);
    std::vector<double> moved(static_cast<std::size_t>(all));
    for (std::size_t c = 0; c < constants_.size(); ++c) {
      const Constant& constant = constants_[c];
      constant.set(profiles, now[c] * std::exp(constant.spread * kStep));
      double* column = jacobian + c * static_cast<std::size_t>(all);
      for (const Setting& setting : settings_) {
        if (!depends(points_[setting.points.front()], constant)) continue;
        write(setting, profiles, moved.data());
        for (const std::size_t i : setting.points) {
          const auto row = static_cast<std::size_t>(row_[i]);
          column[row] = (moved[row] - residuals[row]) / kStep;
        }
      }
      column[static_cast<std::size_t>(rows_) + c] = kDrawn;
      constant.set(profiles, now[c]);
    }
    return true;
  }

 private:
  static bool depends(const Point& point, const Constant& constant) {
    if (constant.key == "send_share") return !point.network.empty() && point.row.kind == CollectiveKind::send_recv;
    return constant.profile == point.link || constant.profile == point.network || constant.profile == "nccl";
  }
  void write(const Setting& setting, const Profiles& profiles, double* residuals) const {
    predict(setting, points_, profiles, times_);
    for (const std::size_t i : setting.points)
      residuals[row_[i]] = std::sqrt(points_[i].weight) * bent(std::log(times_[i] / points_[i].row.time_us));
  }

  const std::vector<Constant>& constants_;
  const std::vector<Point>& points_;
  const Profiles& shipped_;
  std::vector<Setting> settings_;
  std::vector<int> row_;
  int rows_ = 0;
  mutable std::vector<double> times_;
};

/// Standard deviations of y from the curvature: the inverse of JᵀJ, scaled by the mean square of the residuals.
std::vector<double> deviations_of(const Problem& problem, const Eigen::VectorXd& y) {
  const int rows = problem.NumResiduals(), columns = problem.NumParameters();
  Eigen::VectorXd residuals(rows);
  Eigen::MatrixXd jacobian(rows, columns);
  problem(y.data(), residuals.data(), jacobian.data());
  const double variance = residuals.squaredNorm() / std::max(1, rows - columns);
  const Eigen::MatrixXd inverse =
      (jacobian.transpose() * jacobian).ldlt().solve(Eigen::MatrixXd::Identity(columns, columns));
  std::vector<double> out(static_cast<std::size_t>(columns));
  for (int i = 0; i < columns; ++i)
    out[static_cast<std::size_t>(i)] = std::sqrt(std::max(0.0, variance * inverse(i, i)));
  return out;
}

}  // namespace

Solution solve(const std::vector<Constant>& constants, const std::vector<Point>& points, const Profiles& shipped,
               const std::function<bool(const Point&)>& used, const std::vector<std::vector<double>>& starts) {
  const Problem problem(constants, points, shipped, used);
  Solution best;
  Eigen::VectorXd place;
  for (const std::vector<double>& start : starts) {
    ceres::TinySolver<Problem> solver;
    solver.options.max_num_iterations = kMostIterations;
    Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(start.data(), static_cast<Eigen::Index>(start.size()));
    const auto summary = solver.Solve(problem, &y);
    if (place.size() > 0 && summary.final_cost >= best.cost) continue;
    best.cost = summary.final_cost;
    place = y;
  }
  best.values = problem.values(place.data());
  best.place.assign(place.data(), place.data() + place.size());
  best.deviations = deviations_of(problem, place);
  for (std::size_t i = 0; i < constants.size(); ++i) best.deviations[i] *= constants[i].spread;
  return best;
}

}  // namespace stepcast::fit
