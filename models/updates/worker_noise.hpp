#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// By how much workers differ.
struct WorkerNoise {
  double worker = 0;  ///< standard deviation of the logarithm of their speeds, for good
  double step = 0;    ///< of one worker's time from step to step
};

/// Speeds of devices differ as slowest_of says (variability.hpp); a node is as fast as its slowest device, so nodes
/// differ less. Step to step: what the scenario states.
WorkerNoise worker_noise(const Scenario& scenario);

/// Workers of a scenario whose updates meet otherwise than by collectives.
int workers_of(const Scenario& scenario);

}  // namespace stepcast
