#pragma once

#include <vector>

#include "models/estimate/replica_stages.hpp"
#include "models/parallelism/unit_times.hpp"

namespace stepcast {

/// When a stage's computation ends, and its last reduction.
struct ReducedStage {
  Seconds computed;  ///< slowed down by the reductions beside it
  Seconds reduced;   ///< 0 where there is nobody to reduce with
  Seconds met;       ///< of `computed`, for which what else goes between nodes waits for the reductions
  Seconds handed;    ///< by which the gradients that it hands to the stage before come later for that
};

/// A stage's gradients, reduced unit by unit under or after its last backward pass, which ends at `end` alone.
ReducedStage reduce_stage(const ReplicaStages& stages, std::size_t stage, const std::vector<UnitTimes>& units,
                          Seconds end);

}  // namespace stepcast
