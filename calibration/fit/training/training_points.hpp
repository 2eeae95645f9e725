#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibration/fit/training/training_constants.hpp"
#include "calibration/validation/measured_run.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// A measured run as the fit sees it: its scenario resolved once, with profiles of its own that constants change.
struct TrainingPoint {
  std::string set;
  MeasuredRun run;
  std::shared_ptr<Scenario> scenario;
  std::shared_ptr<const FrameworkProfile> framework;  ///< as shipped
  const ComputeProfile* compute = nullptr;            ///< the same
  std::string accelerator;                            ///< id
  std::string family;  ///< runs that share framework, accelerator, model and precision: they say the same thing
  double weight = 1;   ///< 0: no fit reads it
  std::vector<std::size_t> constants;  ///< indices of those that it depends on

  /// The step for the constants' values. Changes the point's own scenario on the way.
  StepBreakdown predict(const std::vector<TrainingConstant>& all, const std::vector<double>& values);
  /// Measured time of a step.
  [[nodiscard]] Seconds measured() const;
  /// ln(predicted / measured) of the step time for the constants' values. Changes the point's own scenario on the way.
  double log_ratio(const std::vector<TrainingConstant>& all, const std::vector<double>& values);
};

/// Runs of the shipped sets that may be fitted: those that resolve, that their source does not doubt, and that are not
/// on the list of what is never fitted. Runs on an assumed accelerator, or in 8 or 4 bit, whichever, count where their
/// program has no others. Runs of a family are off together, so n of them weigh as n / (1 + 0.42·(n − 1)) single ones:
/// one long table does not set everybody's constants.
std::vector<TrainingPoint> training_points(const std::vector<std::string>& sets,
                                           const std::vector<TrainingConstant>& constants, const Catalog& catalog);

/// Runs of these sets that no fit reads, without weight: predictions of them are evidence as those of runs that a fit
/// left out.
std::vector<TrainingPoint> unread_points(const std::vector<std::string>& sets,
                                         const std::vector<TrainingConstant>& constants, const Catalog& catalog);

}  // namespace stepcast
