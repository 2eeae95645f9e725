#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/prediction_of_run.hpp"

namespace stepcast {

/// Groups of runs that differ in their mapping alone say something about ranking from this size on.
inline constexpr std::size_t kSmallestRankedGroup = 4;
/// How many of a set's worst rows a report shows.
inline constexpr std::size_t kWorstRows = 10;

/// How well a set is predicted, over its covered rows. Figures in per cent; null where a set has none.
struct SetScore {
  std::string name;
  std::size_t rows = 0, covered = 0;
  std::map<std::string, int> reasons;  ///< of rows that are not covered
  std::optional<double> mape, median, p90, max;
  std::optional<double> bias;  ///< geometric mean of predicted over measured step time, less one
  std::optional<double> kendall_tau;
  std::optional<double> kendall_tau_within;  ///< mean over groups of equal model, machine, GPU count and batch
  std::optional<double> memory_mape, memory_max;
  std::vector<PredictedRun> worst;  ///< largest error first
};

SetScore score(const std::string& name, std::vector<PredictedRun> runs);

}  // namespace stepcast
