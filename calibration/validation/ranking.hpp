#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/accuracy_figures.hpp"
#include "calibration/validation/prediction_of_run.hpp"

namespace stepcast {

/// Groups say something about ranking from this many configurations on.
inline constexpr std::size_t kSmallestRankedGroup = 4;

/// What a scenario says in one way: repeats of a run, and releases that it cannot tell apart, are one configuration.
struct Configuration {
  const PredictedRun* run = nullptr;  ///< the first of them
  Seconds predicted;                  ///< of a step
  Seconds measured;                   ///< geometric mean over the runs
};

/// Configurations of one job: the question is which of them is fastest.
struct RankedGroup {
  std::string name;
  std::vector<Configuration> configurations;  ///< in the model's order, fastest first
  std::optional<double> kendall_tau;
  double regret = 0;  ///< per cent by which the model's first measured slower than the best measured one
};

/// Groups of equal model, sequence, batch and number of GPUs, on whichever machine.
std::vector<RankedGroup> groups_of_one_job(const std::vector<const PredictedRun*>& covered);
/// Groups that are of one machine too: what a user who has the machine chooses from.
std::vector<RankedGroup> groups_of_one_machine(const std::vector<const PredictedRun*>& covered);

/// Kendall's τ-b over all runs: of the metric where all state the same, else of step times.
std::optional<double> tau_of_all(const std::vector<const PredictedRun*>& covered);
/// Mean over groups; null without any.
std::optional<double> mean_tau(const std::vector<RankedGroup>& groups);
std::optional<Regret> regret_of(const std::vector<RankedGroup>& groups);

}  // namespace stepcast
