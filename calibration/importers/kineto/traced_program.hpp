#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "calibration/importers/kineto/kineto_step.hpp"
#include "calibration/importers/kineto/traced_cluster.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// Groups of so many ranks, each so far from the next, that tile all ranks.
struct GroupTiling {
  int members = 0, stride = 1;
  bool listed = false;  ///< by the trace; else neighbours are assumed
  auto operator<=>(const GroupTiling&) const = default;
  [[nodiscard]] std::string name() const;
};

/// A collective of a program: who takes part, and how long it ran there.
struct PlacedCollective {
  std::size_t operation = 0;  ///< place in the program
  CollectiveKind kind = CollectiveKind::all_reduce;
  int members = 0, stride = 1;
  double time = 0;  ///< as long as it would have run alone: what ran beside it had its part of the links
};

/// One rank's step as a program. Collectives have no size yet.
struct TracedProgram {
  std::vector<RankOperation> operations;
  std::vector<PlacedCollective> collectives;
  std::set<GroupTiling> odd_groups;  ///< groups that are not all ranks
  std::size_t fixed = 0;             ///< communication whose time cannot be modelled
  std::size_t guessed = 0;           ///< kernels that may be of any collective
};

/// What a rank did in a step, each operation behind what held it up. `cluster`: that was traced, null where it is not
/// known; `world`: ranks of the job.
TracedProgram traced_program(const KinetoTrace& trace, const TracedStep& step, const TracedCluster* cluster, int world);

}  // namespace stepcast
