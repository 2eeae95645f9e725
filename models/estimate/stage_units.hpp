#pragma once

#include <vector>

#include "models/estimate/replica_stages.hpp"
#include "models/parallelism/unit_times.hpp"

namespace stepcast {

/// What the stages of a pipeline exchange with other replicas' and how long that takes beside the other stages of
/// their nodes.
class StageUnits {
 public:
  explicit StageUnits(const ReplicaStages& stages) : stages_(stages) {}

  /// A stage's units into `units`, which hold those of the stage before: like stages in a row are asked for once.
  /// Each collective is as slow as the slowest of the replicas' nodes makes it, and as the other stages of its nodes do
  /// where all communicate at the same time: gathers, and all that sharded parameters need.
  void next(std::size_t stage, std::vector<UnitTimes>& units);
  /// Of the NICs and up-links that all stages of a node share, what one of them takes while its groups communicate.
  [[nodiscard]] double shared_by_stage(std::size_t stage, const GroupShape& group) const;

 private:
  std::vector<UnitTimes> units_of(std::size_t stage);
  std::vector<UnitTimes> units_alone(std::size_t stage);
  /// How much longer a stage's collectives take while all stages of its node run theirs, each in proportion to its
  /// parameters: until the stage is done, it shares with what they have left.
  [[nodiscard]] double crowd_of(std::size_t stage, const GroupShape& group) const;

  const ReplicaStages& stages_;
  SyncTrafficCache known_;  ///< of the job on healthy nodes
};

}  // namespace stepcast
