#include "models/collectives/algorithms.hpp"
#include "models/collectives/double_tree.hpp"

namespace stepcast {

namespace {

using algorithms::Call;
using algorithms::Timed;

struct Way {
  MessagePattern pattern;
  int steps;
};

/// Steps over n ranks that double their distance.
int doublings(const Call& call) { return tree_levels(static_cast<int>(call.p)) + tree_levels(call.nodes); }

Way way_of(CollectiveKind kind, const CollectiveCost& cost, const Call& call) {
  const bool twice = kind == CollectiveKind::all_reduce || kind == CollectiveKind::barrier;
  const int others = call.group.size - 1;
  switch (cost.algorithm) {
    case CollectiveAlgorithm::tree:
      return {MessagePattern::tree, 1};
    case CollectiveAlgorithm::nvls:
    case CollectiveAlgorithm::collnet:
      return {MessagePattern::in_switch, 1};
    case CollectiveAlgorithm::nvls_tree:
      return {MessagePattern::tree, 1};
    case CollectiveAlgorithm::chain:
      return {MessagePattern::chain, 1};
    case CollectiveAlgorithm::direct:
      return {MessagePattern::direct, others};
    case CollectiveAlgorithm::halving_doubling:
      return {MessagePattern::halving_doubling, 2 * doublings(call)};
    case CollectiveAlgorithm::recursive_doubling:
    case CollectiveAlgorithm::pat:
      return {MessagePattern::doubling, doublings(call)};
    default:
      break;
  }
  if (kind == CollectiveKind::send_recv) return {MessagePattern::ring, 1};
  return {MessagePattern::ring, twice ? 2 * others : others};
}

CollectivePhase phase_of(CollectiveKind kind, const Timed& timed, const Call& call, PhaseScope scope) {
  const CollectiveCost& cost = timed.cost;
  const Way way = way_of(kind, cost, call);
  return {way.pattern,        scope,           way.steps,       cost.latency - timed.start, cost.native_bytes,
          cost.network_bytes, cost.native_cap, cost.network_cap};
}

/// Three calls: each phase pays its own start, so it stands in the phase's latency.
void add_hierarchical(CollectivePlan& plan, Bytes payload, CollectiveProtocol protocol, const Call& call) {
  const algorithms::HierarchicalParts parts = algorithms::hierarchical_parts(payload, protocol, call);
  const Call in_node(parts.inside, call.net, call.width);
  const Call between(parts.across, call.net, call.width);
  CollectivePhase down = phase_of(CollectiveKind::reduce_scatter, parts.in_node, in_node, PhaseScope::in_node);
  CollectivePhase across = phase_of(CollectiveKind::all_reduce, parts.between, between, PhaseScope::across_nodes);
  down.latency = parts.in_node.cost.latency;
  across.latency = parts.between.cost.latency;
  plan.phases.push_back(down);
  plan.phases.push_back(across);
  plan.phases.push_back(down);
}

}  // namespace

CollectivePlan collective_plan(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm,
                               CollectiveProtocol protocol, ElementWidth width) {
  CollectivePlan plan;
  if (group.size <= 1 || (payload <= Bytes(0) && kind != CollectiveKind::barrier)) return plan;
  const Call call(group, interconnect, width);
  const Timed timed = algorithms::choose(kind, payload, algorithm, protocol, call);
  plan.cost = timed.cost;
  if (plan.cost.algorithm == CollectiveAlgorithm::hierarchical) {
    const Bytes sent = kind == CollectiveKind::barrier ? algorithms::kBarrierPayload : payload;
    add_hierarchical(plan, sent, protocol, call);
    return plan;
  }
  plan.start = timed.start;
  plan.phases.push_back(phase_of(kind, timed, call, PhaseScope::whole));
  return plan;
}

}  // namespace stepcast
