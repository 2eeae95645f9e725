#pragma once

#include <optional>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// How a node takes in input.
struct NodeStorage {
  std::optional<BytesPerSecond> rate;  ///< at which it fetches from storage; null: nothing is known that limits it
  double fetched = 1;                  ///< share of its input that it fetches
  bool over_nics = false;              ///< which is over those that train
};

/// That of nodes in one of Fold::states. Where several kinds meet, of the one that takes input in slowest.
NodeStorage storage_in_state(const Job& job, int state);

}  // namespace stepcast
