#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/robust_fit.hpp"
#include "calibration/validation/operators/prediction.hpp"

namespace stepcast {

/// A constant of a profile that a fit looks for.
struct ProfileConstant {
  FreeConstant constant;
  std::function<void(OperatorProfile&, double)> set;
};

/// Rows of one class of operators on the accelerators of one family, and the constants that they determine.
struct OperatorFitProblem {
  std::vector<const MeasuredOperator*> rows;
  std::vector<ProfileConstant> constants;
  bool fits_power = false;  ///< the rows' power counts beside their time
};

/// What a fit found: the constants are in the profile.
struct OperatorFitResult {
  double error_percent = 0;           ///< mean, in sample
  double left_out_error_percent = 0;  ///< mean over folds of whole families (n × k, heads, columns …) left out
  std::size_t rows = 0;
};

/// Fits the constants of a class, writes them into the profile, cross-validates by families of shapes in five folds,
/// and notes the interval of each constant (80 %, delete-a-group jackknife) in the profile's fit record.
OperatorFitResult fit_class(const OperatorFitProblem& problem, OperatorProfile& profile, const Catalog& catalog);

/// Mean error in per cent of a profile on rows; rows that it says nothing about do not count.
double mean_error_percent(const std::vector<const MeasuredOperator*>& rows, const OperatorProfile& profile,
                          const Catalog& catalog);

}  // namespace stepcast
