#include "calibration/fit/robust_fit.hpp"

#include <ceres/ceres.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace stepcast {
namespace {

/// Residual of a prediction that is no number: far off, so that the step is refused.
constexpr double kFarOff = 20;

/// All rows at once, each residual bent so that half of its square is the robust loss.
struct BentResiduals {
  const LogResiduals* residuals;
  std::size_t constants, rows;
  double scale;

  bool operator()(double const* const* parameters, double* out) const {
    (*residuals)(std::vector<double>(parameters[0], parameters[0] + constants), out);
    for (std::size_t i = 0; i < rows; ++i) {
      const double residual = std::isfinite(out[i]) ? out[i] : kFarOff;
      const double relative = residual / scale;
      out[i] = std::copysign(scale * std::sqrt(2 * (std::sqrt(1 + relative * relative) - 1)), residual);
    }
    return true;
  }
};

RobustFit fit_from(std::vector<double> start, const std::vector<FreeConstant>& constants, std::size_t rows,
                   const LogResiduals& residuals, const RobustFitOptions& options) {
  RobustFit out{std::move(start), 0};
  auto* cost = new ceres::DynamicNumericDiffCostFunction<BentResiduals, ceres::CENTRAL>(
      new BentResiduals{&residuals, constants.size(), rows, options.outlier_scale});
  cost->AddParameterBlock(static_cast<int>(constants.size()));
  cost->SetNumResiduals(static_cast<int>(rows));
  ceres::Problem problem;
  problem.AddResidualBlock(cost, nullptr, out.values.data());
  for (std::size_t i = 0; i < constants.size(); ++i) {
    problem.SetParameterLowerBound(out.values.data(), static_cast<int>(i), constants[i].least);
    problem.SetParameterUpperBound(out.values.data(), static_cast<int>(i), constants[i].most);
  }
  ceres::Solver::Options solver;
  solver.max_num_iterations = options.most_iterations;
  solver.linear_solver_type = ceres::DENSE_QR;
  solver.logging_type = ceres::SILENT;
  solver.num_threads = 1;
  ceres::Solver::Summary summary;
  ceres::Solve(solver, &problem, &summary);
  out.cost = summary.final_cost;
  return out;
}

}  // namespace

RobustFit fit_robustly(const std::vector<FreeConstant>& constants, std::size_t rows, const LogResiduals& residuals,
                       const RobustFitOptions& options) {
  std::vector<double> first;
  for (const FreeConstant& one : constants) {
    if (one.start < one.least || one.start > one.most)
      throw std::logic_error("fit: start of " + one.name + " is outside of its bounds");
    first.push_back(one.start);
  }
  RobustFit best = fit_from(first, constants, rows, residuals, options);
  std::mt19937_64 random(1);  // fixed: the same data gives the same file
  for (int i = 1; i < options.starts; ++i) {
    std::vector<double> start = first;
    // Half way between the first start and a point anywhere between the bounds.
    for (std::size_t j = 0; j < start.size(); ++j) {
      const double share = static_cast<double>(random() >> 11) * 0x1p-53;
      start[j] = 0.5 * (start[j] + constants[j].least + share * (constants[j].most - constants[j].least));
    }
    const RobustFit found = fit_from(std::move(start), constants, rows, residuals, options);
    if (found.cost < best.cost) best = found;
  }
  return best;
}

}  // namespace stepcast
