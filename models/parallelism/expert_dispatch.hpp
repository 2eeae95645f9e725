#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Copies of a token that a dispatcher sends which sends it once to each place that holds any of its experts: what is
/// expected where the router chooses evenly. Of `top_k` copies, one to each expert, both are at most as many.
struct TokenCopies {
  double ranks = 0;  ///< ranks of the group that hold any of them
  double nodes = 0;  ///< nodes
};

/// For experts that lie evenly over the ranks of a group, in order.
TokenCopies token_copies(const TransformerShape& shape, const GroupShape& group);

/// The cost of such a dispatch, or of its combination, which sends the same the other way. `routed`: bytes of one copy
/// to each expert, of all tokens that a rank routes.
CollectiveCost expert_dispatch_cost(Bytes routed, const GroupShape& group, const Job& job);

}  // namespace stepcast
