#pragma once

#include <array>
#include <string>
#include <vector>

#include "calibration/fit/step/step_fit.hpp"
#include "calibration/validation/measured_run.hpp"

namespace stepcast {

/// A run of a group as the shipped constants predict it.
struct CheckedStep {
  std::string name;
  double measured_s = 0, shipped_s = 0;
};

/// Errors on the other runs of a group, given one of them, two and three.
struct GroupCheck {
  std::string group;  ///< source, model and accelerator
  bool mixture_of_experts = false;
  std::size_t rows = 0;
  double shipped_percent = 0;             ///< without any
  std::array<double, 3> given_percent{};  ///< means over which ones are given
  std::array<std::size_t, 3> predictions{};
  std::size_t refused = 0;  ///< runs that, given alone, `calibrate step` would not explain
  std::vector<CheckedStep> steps;
  /// For comparison: the shipped predictions times the given runs' mean of measured ÷ predicted, and times the median
  /// of all runs, which nobody knows beforehand: no factor does better.
  std::array<double, 3> factor_percent{};
  double median_percent = 0;
};

/// Groups of published runs; what is left of them without runs whose mapping or number format had to be filled in,
/// which nobody has to guess who measures a step of his own; and without runs of which any input had to be.
struct StepChecks {
  std::vector<GroupCheck> all, mapped, stated;
};

/// Groups of at least four published runs that one source measured of one model on one accelerator: every run in turn
/// is the one that a user has measured, and the others are predicted with the software constants that it gives.
StepChecks check_steps(std::vector<MeasuredRun> runs, const Catalog& catalog, int jobs);

std::string step_check_text(const StepChecks& checks);
Json step_check_json(const StepChecks& checks);

}  // namespace stepcast
