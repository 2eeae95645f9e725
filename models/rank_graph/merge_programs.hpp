#pragma once

#include <vector>

#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// Makes one program of those that are equal but for the names of their groups and the peers of their messages, which
/// lie equally far away: the traces of ranks that do the same. Groups that take the same place in equal programs become
/// the lists of one. Every program must name its ranks, every group have one list. Returns which programs are left, in
/// order; the graph stays as it is where groups of one place overlap.
std::vector<int> merge_programs(RankGraph& graph);

}  // namespace stepcast
