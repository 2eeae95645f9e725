#pragma once

#include <cstdint>
#include <vector>

#include "models/collectives/gossip.hpp"
#include "models/updates/update_outcome.hpp"
#include "models/updates/worker_noise.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// A step's exchange: who sends to whom, all at once, and how long that takes.
struct GossipExchange {
  GossipGraph graph;  ///< pairs: edges unused
  Seconds time;
};

/// Workers that average with neighbours, or with one peer at a time.
struct GossipJob {
  std::vector<GossipExchange> exchanges;  ///< of the steps in turn, over and over; of pairs one
  Seconds busy;                           ///< of a worker in a step, without the exchange
  WorkerNoise noise;
  std::uint64_t seed = 1;
};

struct GossipRun {
  Seconds step;
  Seconds neighbour_wait;  ///< of a worker and step: a neighbour's parameters were not there
  Staleness staleness;     ///< pairs: steps that a peer has taken since the model was read that is averaged
};

/// D-PSGD (Lian et al. 2017): a step begins when the last one has ended and the neighbours' parameters of the last step
/// have arrived, which travel while their owners compute. There is no barrier: a slow worker holds up its neighbours,
/// they theirs a step later.
GossipRun run_gossip(const GossipJob& job);

/// AD-PSGD (Lian et al. 2018): every worker reads the model of a peer drawn at random while it computes and averages
/// with it; nobody waits for anybody, and a step takes as long as the longer of the two.
GossipRun run_pairs(const GossipJob& job);

}  // namespace stepcast
