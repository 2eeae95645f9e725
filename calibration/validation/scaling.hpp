#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/accuracy_figures.hpp"
#include "calibration/validation/prediction_of_run.hpp"

namespace stepcast {

/// How well the gain from more devices is predicted: throughput at n devices over that at the smallest number of the
/// row's group, predicted against measured. Errors in per cent; null where no group has two sizes.
struct ScalingScore {
  std::size_t rows = 0;  ///< compared: every row but the smallest of each group
  std::optional<double> mape;
  /// Of the scaling efficiency, the gain over the gain in devices, in points: |predicted − measured| of per cents.
  std::optional<double> efficiency_points;
  std::optional<double> one_device_mape;  ///< of throughput, over the rows on one device
  std::size_t one_device_rows = 0;
};

/// Rows without a scaling group or a throughput are left out. Several rows of a group's smallest size count by their
/// mean.
ScalingScore scaling_score(const std::vector<const PredictedRun*>& runs);
/// The same of each framework's rows. Releases and ways to exchange gradients count as one: "tensorflow" holds
/// "tensorflow1.13-ps" and "tensorflow2-horovod".
std::map<std::string, ScalingScore> scaling_by_framework(const std::vector<const PredictedRun*>& runs);
/// Puts it among the figures of a set.
void set_scaling(AccuracyFigures& out, const ScalingScore& score);

}  // namespace stepcast
