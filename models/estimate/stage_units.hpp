#pragma once

#include <vector>

#include "models/estimate/stage_links.hpp"
#include "models/parallelism/unit_times.hpp"

namespace stepcast {

/// What the stages of a pipeline exchange with other replicas' and how long that takes beside the other stages
/// that share links with them.
class StageUnits {
 public:
  /// `around`: what the messages of a micro-batch take on its way around all stages.
  StageUnits(const ReplicaStages& stages, Seconds around) : stages_(stages), around_(around), links_(stages) {}

  /// A stage's units into `units`, which hold those of the stage before: like stages in a row are asked for once.
  /// Each collective is as slow as the slowest of the replicas' nodes makes it, and as the other stages on its links do
  /// where all communicate at the same time: gathers, and all that sharded parameters need. Where a pipeline keeps what
  /// it has gathered, gathers are as if alone (gather_crowd): of its stages most wait for others' work.
  void next(std::size_t stage, std::vector<UnitTimes>& units);
  /// How much longer a stage's gathers take while all stages on its links gather.
  [[nodiscard]] double gather_crowd(std::size_t stage) const { return crowd_of(stage, stages_.job().groups.shard); }
  [[nodiscard]] const StageLinks& links() const { return links_; }

 private:
  std::vector<UnitTimes> units_of(std::size_t stage);
  std::vector<UnitTimes> units_alone(std::size_t stage);
  void take_turns(std::vector<UnitTimes>& units) const;
  /// How much longer a stage's collectives take while all stages on its links run theirs, each in proportion to its
  /// parameters: until the stage is done, it shares with what they have left.
  [[nodiscard]] double crowd_of(std::size_t stage, const GroupShape& group) const;

  const ReplicaStages& stages_;
  const Seconds around_;
  StageLinks links_;
  SyncTrafficCache known_;  ///< of the job on healthy nodes
};

}  // namespace stepcast
