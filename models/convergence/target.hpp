#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Samples that the target takes at the global batch over those at the batch for which the work was stated:
/// (1 + B/B_c)/(1 + B_0/B_c), from samples = S_min·(1 + B/B_c) (McCandlish et al. 2018, "An Empirical Model of
/// Large-Batch Training", eq. 2.11). 1 unless the workload states both critical_batch and stated_at_batch; scenarios
/// that are made of another one get their stated_at_batch from it (keep_stated_batch).
double work_factor(const Scenario& scenario);

/// The same at another batch.
double work_factor(const Scenario& scenario, double batch);

/// Of samples over which the batch grows linearly from `first` to `last`, the mean over their own factors of what each
/// is worth: ∫ db/factor(b) ÷ (last − first).
double mean_worth(const Scenario& scenario, double first, double last);

/// Steps that the scenario's stated work (tokens, samples or epochs) takes at its global batch, larger batches needing
/// more of it (`work_factor`); null when none is stated.
std::optional<double> steps_to_train(const Scenario& scenario);

/// What of the scenario's updates may make training need more samples than exact ones, and is not counted: "stale
/// updates", "local steps", "compressed gradients"; empty where updates are exact.
std::vector<std::string> uncounted_updates(const Scenario& scenario);

/// Whether a change of the scenario may make it need more samples to a target, which samples a second do not show: more
/// local steps, staler updates, what compression loses, or a larger batch where a critical one is stated.
bool may_need_more_samples(const Scenario& before, const Scenario& after);

}  // namespace stepcast
