#pragma once

#include <cstdint>
#include <vector>

#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// What a mean sample takes while so many are under way on its copy of the model.
struct SampleTime {
  double under_way = 1;
  Seconds time;
};

/// Actors that generate samples and a learner that trains on them.
struct ActorJob {
  long slots = 1;                  ///< samples that are generated at once at most, by all actors
  long copies = 1;                 ///< of the model; samples under way are spread over them evenly
  std::vector<SampleTime> sample;  ///< by rising `under_way`, straight lines between; beyond both ends, as there
  double spread = 0;               ///< standard deviation of the logarithm of a sample's work
  double longest = 0;              ///< of the mean, at which a sample is cut off; 0: never
  bool interruptible = false;      ///< samples under way go on with weights that arrive
  Seconds interruption;            ///< of a copy when weights arrive, for each sample under way on it
  long batch = 1;                  ///< samples of a step
  Seconds learn;                   ///< a step of the learner that has its samples
  Seconds broadcast;               ///< from a step's end until actors begin samples with its weights
  int staleness_bound = 0;         ///< steps that a sample's weights may be behind when it is learned
  std::uint64_t seed = 1;
};

struct ActorRun {
  Seconds step;          ///< from step to step
  Seconds wait;          ///< of it, the learner has no samples
  Seconds sample;        ///< from beginning to end, mean, interruptions included
  double under_way = 0;  ///< samples, by all actors, mean
  double most_on_a_copy = 0;
  double idle = 0;  ///< share of the copies' time in which nothing is under way on them
  Staleness staleness;
};

/// Runs tens of steps, sample by sample. A slot begins a sample only while the samples begun are fewer than those of
/// the steps up to the bound (AReaL, Fu et al. 2025, arXiv 2505.24298, equation 3), so that none is staler than
/// allowed. All samples under way go on at the same pace, that of their number (processor sharing): a copy with few of
/// them is as fast as one that may hold no more. Of `slots` and the points of `sample` below, copies hold so many at
/// most as is fastest. A sample counts as of the weights it was finished with. Deterministic:
/// the same job gives the same figures.
ActorRun run_actors(const ActorJob& job);

}  // namespace stepcast
