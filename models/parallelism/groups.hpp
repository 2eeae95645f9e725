#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Where the groups of every dimension lie, from the degrees, the order of dimensions over ranks and the devices per
/// node. Rank = Σ coordinate · stride, stride = product of the degrees before it in the order; nodes are filled rank by
/// rank. Expert groups lie inside the dp·cp ranks, as Megatron places them.
/// `above` of the shapes stays empty; NodeMap fills it.
Groups groups_of(const RankLayout& layout);

/// Whether groups of a dimension lie partly on one node and partly on the next: their ranks neither divide a node's
/// devices nor fill whole nodes. Groups then differ from one another, which one representative of them cannot show.
bool straddles_nodes(const RankLayout& layout);

/// Who takes part in what a layer communicates along a dimension.
const GroupShape& group_of(const Groups& groups, Dimension dimension);

/// Which representative node each pipeline rank lies on. Where a node's devices do not divide evenly, the count of the
/// first node stands for all.
StagePlacement placement_of(const RankLayout& layout);

}  // namespace stepcast
