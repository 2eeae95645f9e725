#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/operators/operator_machines.hpp"

namespace stepcast {

/// Mean errors in % of the operators of one accelerator, as if nobody had measured them.
struct LeftOutOperators {
  std::string set;          ///< of operators
  std::string accelerator;  ///< catalogue id
  std::string kernel;       ///< of attention that alone is left out, its other formats with it; empty: everything
  std::size_t rows = 0;
  std::optional<double> own;       ///< with the family's own constants, in sample
  std::optional<double> siblings;  ///< with those of the nearest families
  std::optional<double> steps;     ///< with what steps use of it alone; null for a kernel
};

/// Leaves every accelerator with twenty timed operators or more out of the constants by turns, its whole family with
/// it, and predicts it as a new one; then every kernel of attention of a family.
std::vector<LeftOutOperators> left_out_operators(const std::vector<OperatorSet>& sets, const Catalog& catalog);

}  // namespace stepcast
