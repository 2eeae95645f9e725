#pragma once

#include <cstdint>

#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// Actors that generate samples and a learner that trains on them.
struct ActorJob {
  long slots = 1;              ///< samples that are generated at once, by all actors
  Seconds sample;              ///< to generate one, mean
  double spread = 0;           ///< standard deviation of the logarithm of it
  double longest = 0;          ///< of the mean, at which a sample is cut off; 0: never
  bool interruptible = false;  ///< samples under way go on with weights that arrive
  Seconds interruption;        ///< of every sample under way when weights arrive
  long batch = 1;              ///< samples of a step
  Seconds learn;               ///< a step of the learner that has its samples
  Seconds broadcast;           ///< from a step's end until actors begin samples with its weights
  int staleness_bound = 0;     ///< steps that a sample's weights may be behind when it is learned
  std::uint64_t seed = 1;
};

struct ActorRun {
  Seconds step;  ///< from step to step
  Seconds wait;  ///< of it, the learner has no samples
  double idle = 0;
  Staleness staleness;
};

/// Runs tens of steps, sample by sample. A slot begins a sample only while the samples begun are fewer than those of
/// the steps up to the bound (AReaL, Fu et al. 2025, arXiv 2505.24298, equation 3), so that none is staler than
/// allowed. A sample counts as of the weights it was finished with. Deterministic: the same job gives the same figures.
ActorRun run_actors(const ActorJob& job);

}  // namespace stepcast
