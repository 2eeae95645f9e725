#include "models/collectives/algorithms.hpp"

namespace stepcast::algorithms {

namespace {

/// What is paid before, between and after.
struct Parts {
  GroupShape inside, across;
  Timed in_node, between;
};

Parts parts_of(const Asked& asked, const Call& call) {
  const auto members = static_cast<int>(call.p);
  Parts parts;
  parts.inside = GroupShape{members, members, call.group.groups_per_node};
  parts.across = GroupShape{call.nodes, 1, call.group.groups_per_node * members, call.group.above};
  const Call in_node(parts.inside, call.net, call.width);
  const Call between(parts.across, call.net, call.width);
  Asked part = asked;
  part.kind = CollectiveKind::reduce_scatter;
  parts.in_node = by_ring(part, in_node);
  part.kind = CollectiveKind::all_reduce;
  part.payload = asked.payload / call.p;
  parts.between = faster(by_ring(part, between), by_tree(part, between));
  return parts;
}

}  // namespace

/// Three calls, one after another. The phases in the node meet no other traffic, so their time counts as latency around
/// the one that does.
Timed by_hierarchy(const Asked& asked, const Call& call) {
  if (call.p <= 1 || !call.crosses()) return by_ring(asked, call);
  const Parts parts = parts_of(asked, call);
  Timed out = parts.between;
  // Its bytes are counted at a ring's rate over the fabric; a tree between the nodes has its own.
  const Call between(parts.across, call.net, call.width);
  out.cost.network_cap *= between.rate(out.cost.algorithm) / between.network_rate;
  out.cost.algorithm = CollectiveAlgorithm::hierarchical;
  out.cost.latency += 2 * parts.in_node.time;
  out.time += 2 * parts.in_node.time;
  return out;
}

/// Each phase pays its own start, so it stands in the phase's latency.
void add_hierarchical_phases(CollectivePlan& plan, const Asked& asked, const Call& call) {
  const Parts parts = parts_of(asked, call);
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

}  // namespace stepcast::algorithms
