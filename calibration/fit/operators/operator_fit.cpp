#include "calibration/fit/operators/operator_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/validation/statistics.hpp"
#include "fields/fnv1a.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kFolds = 5;
/// Two-sided 80 % of a normal distribution.
constexpr double kEightyPercent = 1.2816;

/// The fold of a family: FNV-1a, so that it does not change with the order of the rows.
std::size_t fold_of(const std::string& family) {
  Fnv1a hash;
  hash.add(family);
  return (hash.value() >> 32) % kFolds;
}

std::vector<const Accelerator*> accelerators_of(const std::vector<const MeasuredOperator*>& rows,
                                                const Catalog& catalog) {
  std::vector<const Accelerator*> out;
  out.reserve(rows.size());
  for (const MeasuredOperator* row : rows) out.push_back(catalog.find<Accelerator>(row->accelerator));
  return out;
}

OperatorProfile with_values(const OperatorProfile& profile, const std::vector<ProfileConstant>& constants,
                            const std::vector<double>& values) {
  OperatorProfile out = profile;
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i].set(out, values[i]);
  return out;
}

std::vector<double> fitted(const OperatorFitProblem& problem, const std::vector<const MeasuredOperator*>& rows,
                           const OperatorProfile& profile, const Catalog& catalog,
                           const std::optional<std::vector<double>>& from) {
  const std::vector<const Accelerator*> accelerators = accelerators_of(rows, catalog);
  std::vector<FreeConstant> free;
  for (std::size_t i = 0; i < problem.constants.size(); ++i) {
    free.push_back(problem.constants[i].constant);
    if (from) free.back().start = std::clamp((*from)[i], free.back().least, free.back().most);
  }
  const std::size_t times = rows.size();
  const LogResiduals residuals = [&](const std::vector<double>& values, double* out) {
    const OperatorProfile tried = with_values(profile, problem.constants, values);
    for (std::size_t i = 0; i < times; ++i) {
      const OperatorPrediction prediction = predict_operator(*rows[i], OperatorMachine{accelerators[i], &tried});
      out[i] = prediction.time ? std::log(*prediction.time / rows[i]->measured) : 0;
      if (problem.fits_power)
        out[times + i] = prediction.power && rows[i]->power ? std::log(*prediction.power / *rows[i]->power) : 0;
    }
  };
  RobustFitOptions options;
  if (from) options.starts = 1;
  return fit_robustly(free, problem.fits_power ? 2 * times : times, residuals, options).values;
}

/// √((K−1)/K · Σ(θᵢ − θ̄)²) over the values that K folds gave (Busing et al. 1999, delete-m jackknife).
double jackknife_error(const std::vector<std::vector<double>>& by_fold, std::size_t constant) {
  double middle = 0, squares = 0;
  const auto folds = static_cast<double>(by_fold.size());
  for (const std::vector<double>& values : by_fold) middle += values[constant] / folds;
  for (const std::vector<double>& values : by_fold)
    squares += (values[constant] - middle) * (values[constant] - middle);
  return std::sqrt((folds - 1) / folds * squares);
}

void note_intervals(const OperatorFitProblem& problem, const std::vector<double>& values,
                    const std::vector<std::vector<double>>& by_fold, OperatorProfile& profile) {
  for (std::size_t i = 0; i < values.size() && by_fold.size() > 1; ++i) {
    const double half = kEightyPercent * jackknife_error(by_fold, i);
    const FreeConstant& one = problem.constants[i].constant;
    profile.fit->intervals[one.name] = {std::max(one.least, values[i] - half), std::min(one.most, values[i] + half)};
  }
}

}  // namespace

double mean_error_percent(const std::vector<const MeasuredOperator*>& rows, const OperatorProfile& profile,
                          const Catalog& catalog) {
  const std::vector<const Accelerator*> accelerators = accelerators_of(rows, catalog);
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const OperatorPrediction p = predict_operator(*rows[i], OperatorMachine{accelerators[i], &profile}); p.time)
      errors.push_back(absolute_error(p.time->value(), rows[i]->measured.value()));
  return 100 * mean(errors).value_or(std::numeric_limits<double>::quiet_NaN());
}

OperatorFitResult fit_class(const OperatorFitProblem& problem, OperatorProfile& profile, const Catalog& catalog) {
  if (!profile.fit) profile.fit.emplace();
  const std::vector<double> values = fitted(problem, problem.rows, profile, catalog, std::nullopt);
  OperatorFitResult out;
  out.rows = problem.rows.size();
  double left_out_errors = 0;
  std::size_t left_out_rows = 0;
  std::vector<std::vector<double>> by_fold;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<const MeasuredOperator*> kept, left;
    for (const MeasuredOperator* row : problem.rows) (fold_of(row->family) == fold ? left : kept).push_back(row);
    if (left.empty() || kept.size() < problem.constants.size()) continue;
    by_fold.push_back(fitted(problem, kept, profile, catalog, values));
    left_out_errors += mean_error_percent(left, with_values(profile, problem.constants, by_fold.back()), catalog) *
                       static_cast<double>(left.size());
    left_out_rows += left.size();
  }
  note_intervals(problem, values, by_fold, profile);
  profile = with_values(profile, problem.constants, values);
  out.error_percent = mean_error_percent(problem.rows, profile, catalog);
  out.left_out_error_percent =
      left_out_rows > 0 ? left_out_errors / static_cast<double>(left_out_rows) : out.error_percent;
  return out;
}

}  // namespace stepcast
