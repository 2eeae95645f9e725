#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibration/fit/prior_fit.hpp"
#include "calibration/profile/calibration_profile.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A step that was measured, with the scenario that it ran.
struct MeasuredStep {
  std::string name;
  std::shared_ptr<const Scenario> scenario;
  Seconds measured;
};

/// A constant of the software as one measured step or several move it.
struct SoftwareConstant {
  std::string key;  ///< of the framework's profile, unit included
  std::string what;
  double shipped = 0, value = 0;
  double deviation = 0;  ///< standard deviations of the prior that it moved by
};

struct StepRow {
  std::string name;
  double measured_s = 0, before_s = 0, after_s = 0;
  /// What the constants leave of the gap; above 0: predicted too slow.
  [[nodiscard]] double left_percent() const { return 100 * (after_s / measured_s - 1); }
};

/// What one or several measured steps say of the software.
struct StepFit {
  std::string framework;
  std::vector<SoftwareConstant> constants;
  std::vector<StepRow> rows;
  bool explained = true;
  std::vector<std::string> words;  ///< what cannot be explained, and why
  std::vector<std::string> left;   ///< gaps that stay, within the model's own error: the calibration does not hold them
};

/// Moves the few constants of a framework that no catalogue knows (host time of a layer, traffic that fusion leaves,
/// what of communication stays exposed, data-parallel overhead, fixed time of a step) from their priors
/// to the most probable values given the steps: least Σ (ln(predicted/measured)/3 %)² + Σ y², |y| ≤ 2. Steps of one
/// framework. A step is explained if it lies no farther from its forecast than the constants at two spreads and the
/// error that 80 % of like runs stayed below, as independent errors. Throws InputError when there are none, or of
/// several frameworks.
StepFit fit_steps(const std::vector<MeasuredStep>& steps);

/// Predicted step time of a scenario with these constants in place of its framework's.
Seconds step_time_with(const Scenario& scenario, const std::vector<SoftwareConstant>& constants);

/// The outcome in words and as JSON.
std::string step_text(const StepFit& fit);
Json step_json(const StepFit& fit);

/// As a calibration: entry framework-constants/<id>, which scenarios of this framework take.
CalibrationProfile step_calibration(const StepFit& fit, const std::string& name, const std::string& date);

}  // namespace stepcast
