#pragma once

#include <cstdint>

#include "models/updates/worker_noise.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Workers that average their models every so many steps (local SGD; DiLoCo with an outer optimizer).
struct LocalJob {
  int workers = 1;
  int steps = 1;     ///< between two exchanges
  Seconds busy;      ///< of a worker's step
  Seconds exchange;  ///< all-reduce of the models and the outer update
  WorkerNoise noise;
  std::uint64_t seed = 1;
};

struct LocalRun {
  Seconds step;          ///< mean over a round
  Seconds barrier_wait;  ///< of a worker and step: for the slowest at the exchange
};

/// Random parts of single steps even out over a round, lasting differences between workers do not.
LocalRun run_local(const LocalJob& job);

}  // namespace stepcast
