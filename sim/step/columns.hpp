#pragma once

#include <string>
#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// A column of the step graph: one device for each pipeline stage, which together run one pipeline.
///
/// Folded, a column stands for all pipelines of the replicas of one class; in full, for the one that begins at its
/// rank.
struct Column {
  std::string name;         ///< what sets it apart from others; empty for one that stands for all
  std::vector<int> state;   ///< by stage: index into Fold::states
  int replica_class = 0;    ///< index into Fold::classes
  int base_rank = 0;        ///< its rank of stage 0; that of stage s is base + s · stride
  double multiplicity = 1;  ///< real devices that each of its devices stands for
};

/// Ranks that `run.flows: "full"` simulates at most: flows share links in every step, and SimGrid's time grows with
/// the square of what is alive.
inline constexpr int kMostFullRanks = 512;

/// Throws InputError, without a file, when `full` is asked of more ranks than that, or of hashed routes: it knows the
/// up-links of a leaf as one link, in which no flows collide.
std::vector<Column> columns_of(const Job& job, FlowDetail flows);

/// One device of the graph.
struct Member {
  int column = 0, stage = 0;
  int device = 0;  ///< index in the graph
  int rank = 0;    ///< a real rank that it stands for
};

}  // namespace stepcast
