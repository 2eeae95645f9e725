#include "models/parallelism/expert_dispatch.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// Of `holders` of equal parts of `experts`, how many hold one of `chosen` that are drawn evenly, each once: a holder
/// is missed where every draw falls on what the others hold.
double holders_of_chosen(double holders, double experts, int chosen) {
  double missed = 1;
  for (int i = 0; i < chosen; ++i) missed *= std::max(0.0, 1 - (experts / holders) / (experts - i));
  return holders * (1 - missed);
}

/// The same where the choice is among some of the groups of experts. Where groups lie over several holders, only those
/// of the token's groups count; a holder of several groups is reached no more often than they are.
double holders_reached(int holders, const TransformerShape& shape) {
  const double share = static_cast<double>(shape.groups_per_token) / shape.expert_groups;
  const double parts = std::max(holders, shape.expert_groups);
  return std::min(holders_of_chosen(holders, shape.experts, shape.top_k),
                  holders_of_chosen(parts * share, shape.experts * share, shape.top_k));
}

}  // namespace

TokenCopies token_copies(const TransformerShape& shape, const GroupShape& group) {
  return {holders_reached(group.size, shape), holders_reached(group.nodes(), shape)};
}

CollectiveCost expert_dispatch_cost(Bytes routed, const GroupShape& group, const Job& job) {
  const TransformerShape& shape = *job.scenario->model->transformer;
  const TokenCopies copies = token_copies(shape, group);
  const Bytes once = routed / shape.top_k;
  return forwarded_cost(once * copies.nodes, once * copies.ranks, group, job.interconnect);
}

}  // namespace stepcast
