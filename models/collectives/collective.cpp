#include "models/collectives/collective.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stepcast {

namespace {

// A double binary tree's threads reach 0.88 of what a ring's do inside the node (COLLECTIVE-HINTS.md section 1).
constexpr double kTreeNativeShare = 0.88;
// Longest chain of a tree inside a node: NCCL builds it over the eight devices of a node (same place).
constexpr int kLongestChain = 7;
// Above 8 nodes the wire loses 2.25 % for each doubling (same place).
constexpr double kLossPerDoubling = 0.0225;
constexpr int kNodesWithoutLoss = 8;

/// Members of a group over nodes: n ranks, p on each of k nodes.
struct Members {
  double n, p, k;
  explicit Members(const GroupShape& group)
      : n(group.size), p(std::min(group.per_node, group.size)), k(group.nodes()) {}
  [[nodiscard]] bool crosses() const { return k > 1; }
};

int levels(int nodes) { return nodes <= 1 ? 0 : std::bit_width(static_cast<unsigned>(nodes - 1)); }

double wire_share(int nodes) {
  if (nodes <= kNodesWithoutLoss) return 1;
  return 1 / (1 + kLossPerDoubling * (std::log2(static_cast<double>(nodes)) - 3));
}

/// Multi-rail rings: every channel passes through the p members of a node and leaves by another one's NIC, so of the
/// `volume` that each rank forwards, 1/p leaves the node and (p − 1)/p stays on native ports.
CollectiveCost ring(Bytes volume, double passes, const Members& m, const Interconnect& net, const SendProtocol& how) {
  CollectiveCost cost;
  cost.algorithm = CollectiveAlgorithm::ring;
  const double network_steps = m.crosses() ? passes * (m.k - 1) : 0;
  const double native_steps = passes * (m.n - 1) - network_steps;
  cost.latency = net.launch + native_steps * how.native_hop + network_steps * how.network_hop;
  if (m.crosses()) {
    cost.latency += net.network_launch;
    cost.network_bytes = volume / m.p;
    cost.native_bytes = volume * ((m.p - 1) / m.p);
  } else {
    cost.native_bytes = volume;
  }
  cost.native_cap = how.native_share;
  cost.network_cap = how.network_share;
  return cost;
}

/// Double binary tree over the nodes with a chain inside each: up and down, so a rank sends the buffer twice; between
/// two nodes each sends it once, for one is the root of either half.
CollectiveCost tree(Bytes payload, const GroupShape& group, const Members& m, const Interconnect& net,
                    const SendProtocol& how) {
  CollectiveCost cost;
  cost.algorithm = CollectiveAlgorithm::tree;
  const double chain = std::min(static_cast<int>(m.p) - 1, kLongestChain);
  cost.latency = net.launch + 2 * (chain * how.native_hop + levels(group.nodes()) * how.tree_hop);
  cost.native_bytes = payload * (2 * (m.p - 1) / m.p);
  if (m.crosses()) {
    cost.latency += net.network_launch;
    cost.network_bytes = payload * ((m.k > 2 ? 2.0 : 1.0) / m.p);
  }
  cost.native_cap = how.native_share * kTreeNativeShare;
  cost.network_cap = how.network_share;
  return cost;
}

/// Shares that depend on where the group lies and not on the algorithm.
struct Placement {
  double native_share, wire_share;
};

Placement placement_of(const GroupShape& group, const Interconnect& net) {
  return {net.native_share(std::min(group.per_node, group.size)), wire_share(group.nodes())};
}

CollectiveCost placed(CollectiveCost cost, const Placement& placement) {
  cost.native_cap *= placement.native_share;
  cost.network_cap *= placement.wire_share;
  return cost;
}

Seconds transfer(Bytes bytes, BytesPerSecond rate) { return bytes > Bytes(0) ? bytes / rate : Seconds(0); }

Seconds time_on(const CollectiveCost& cost, const Interconnect& net, BytesPerSecond network_rate) {
  return cost.latency + std::max(transfer(cost.native_bytes, net.native * cost.native_cap),
                                 transfer(cost.network_bytes, network_rate * cost.network_cap));
}

/// A cost with its time on idle links, which choices compare.
struct Timed {
  CollectiveCost cost;
  Seconds time;
};

const Timed& faster(const Timed& a, const Timed& b) { return b.time < a.time ? b : a; }

/// The group and links of one call, worked out once.
struct Call {
  const GroupShape& group;
  const Interconnect& net;
  Members members;
  Placement placement;
  BytesPerSecond network_rate;
  Call(const GroupShape& g, const Interconnect& n)
      : group(g), net(n), members(g), placement(placement_of(g, n)), network_rate(n.network_rate(g)) {}

  [[nodiscard]] Timed timed(const CollectiveCost& unplaced) const {
    const CollectiveCost cost = placed(unplaced, placement);
    return {cost, time_on(cost, net, network_rate)};
  }
};

/// The faster of small-message and bulk protocol.
Timed by_ring(Bytes volume, double passes, const Call& call) {
  const auto with = [&](const SendProtocol& how) {
    CollectiveCost cost = ring(volume, passes, call.members, call.net, how);
    cost.latency += call.net.ring_hops(call.group, passes);
    return call.timed(cost);
  };
  return faster(with(call.net.small_messages), with(call.net.bulk));
}

Timed by_tree(Bytes payload, const Call& call) {
  const auto with = [&](const SendProtocol& how) {
    CollectiveCost cost = tree(payload, call.group, call.members, call.net, how);
    cost.latency += call.net.tree_hops(call.group);
    return call.timed(cost);
  };
  return faster(with(call.net.small_messages), with(call.net.bulk));
}

Timed ring_all_reduce(Bytes payload, const Call& call) {
  return by_ring(payload * (2 * (call.members.n - 1) / call.members.n), 2, call);
}

/// Reduce-scatter in the node, all-reduce of each share across the nodes, all-gather in the node: three calls, one
/// after another. The phases in the node meet no other traffic, so their time counts as latency around the one that
/// does.
CollectiveCost hierarchical_all_reduce(Bytes payload, const Call& call) {
  const int members = std::min(call.group.per_node, call.group.size);
  if (members == 1 || call.group.nodes() == 1) return ring_all_reduce(payload, call).cost;
  const GroupShape inside{members, members, call.group.groups_per_node};
  const GroupShape across{call.group.nodes(), 1, call.group.groups_per_node * members};
  const Call in_node(inside, call.net);
  const Call between(across, call.net);
  const Seconds phase = by_ring(payload * ((members - 1.0) / members), 1, in_node).time;
  const Bytes share = payload / members;
  CollectiveCost cost = faster(ring_all_reduce(share, between), by_tree(share, between)).cost;
  cost.algorithm = CollectiveAlgorithm::hierarchical;
  cost.latency += 2 * phase;
  return cost;
}

CollectiveCost all_reduce(Bytes payload, const Call& call, CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return ring_all_reduce(payload, call).cost;
    case CollectiveAlgorithm::tree:
      return by_tree(payload, call).cost;
    case CollectiveAlgorithm::hierarchical:
      return hierarchical_all_reduce(payload, call);
    default:
      break;
  }
  const Timed ring = ring_all_reduce(payload, call);
  // Inside one node NCCL's trees are chains, never faster than a ring for a buffer that is cut in pieces.
  if (!call.members.crosses()) return ring.cost;
  return faster(ring, by_tree(payload, call)).cost;
}

/// Direct exchange with every peer, one message each.
CollectiveCost all_to_all(Bytes payload, const Call& call) {
  const Members& m = call.members;
  const Interconnect& net = call.net;
  CollectiveCost cost;
  cost.algorithm = CollectiveAlgorithm::direct;
  cost.latency = net.launch + (m.p - 1) * net.peer_start + net.direct_hops(call.group);
  cost.native_bytes = payload * ((m.p - 1) / m.n);
  if (m.crosses()) {
    cost.latency += net.network_launch + (m.n - m.p) * net.remote_peer_start;
    cost.network_bytes = payload * ((m.n - m.p) / m.n);
  }
  cost.native_cap = net.all_to_all_native_share;
  cost.network_cap = net.all_to_all_share;
  return placed(cost, call.placement);
}

/// Every rank sends one message to the next rank of the group. Across nodes the rank at a node's edge is the slowest
/// and stands for all.
CollectiveCost send_recv(Bytes payload, const Call& call) {
  const Interconnect& net = call.net;
  CollectiveCost cost;
  if (call.members.crosses()) {
    cost.latency = net.launch + net.network_launch + net.network_hop + net.direct_hops(call.group);
    cost.network_bytes = payload;
    // One message goes over one NIC, however many the device has.
    const bool several = net.rank_network > net.nic && net.nic > BytesPerSecond(0);
    cost.network_cap = net.send_share * (several ? net.nic / net.rank_network : 1);
    return cost;
  }
  cost.latency = net.launch + net.native_hop;
  cost.native_bytes = payload;
  cost.native_cap = call.placement.native_share;
  return cost;
}

}  // namespace

Seconds CollectiveCost::alone(const Interconnect& net, const GroupShape& group) const {
  return time_on(*this, net, net.network_rate(group, algorithm == CollectiveAlgorithm::direct));
}

CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm) {
  if (group.size <= 1 || payload <= Bytes(0)) return {};
  const Call call(group, interconnect);
  const Bytes forwarded = payload * ((call.members.n - 1) / call.members.n);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return all_reduce(payload, call, algorithm);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return by_ring(forwarded, 1, call).cost;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return by_ring(payload, 1, call).cost;
    case CollectiveKind::all_to_all:
      return all_to_all(payload, call);
    case CollectiveKind::send_recv:
      return send_recv(payload, call);
    case CollectiveKind::barrier:
      return all_reduce(payload, call, algorithm);
  }
  return {};
}

namespace {

/// The phase of a collective that runs as one.
CollectivePhase only_phase(CollectiveKind kind, const GroupShape& group, const CollectiveCost& cost) {
  CollectivePhase phase;
  phase.native_bytes = cost.native_bytes;
  phase.network_bytes = cost.network_bytes;
  phase.native_cap = cost.native_cap;
  phase.network_cap = cost.network_cap;
  switch (kind) {
    case CollectiveKind::all_to_all:
      phase.pattern = MessagePattern::direct;
      phase.steps = group.size - 1;
      break;
    case CollectiveKind::send_recv:
      phase.pattern = MessagePattern::ring;
      break;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      phase.pattern = MessagePattern::chain;
      break;
    default:
      phase.pattern = cost.algorithm == CollectiveAlgorithm::tree ? MessagePattern::tree : MessagePattern::ring;
      if (phase.pattern == MessagePattern::ring)
        phase.steps =
            (kind == CollectiveKind::all_reduce || kind == CollectiveKind::barrier ? 2 : 1) * (group.size - 1);
  }
  return phase;
}

}  // namespace

CollectivePlan collective_plan(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm,
                               CollectiveProtocol /*protocol*/) {
  CollectivePlan plan;
  plan.cost = collective_cost(kind, payload, group, interconnect, algorithm);
  if (group.size <= 1 || payload <= Bytes(0)) return plan;
  plan.start = interconnect.launch;
  if (group.nodes() > 1) plan.start += interconnect.network_launch;
  CollectivePhase phase = only_phase(kind, group, plan.cost);
  phase.latency = plan.cost.latency - plan.start;
  plan.phases.push_back(phase);
  return plan;
}

}  // namespace stepcast
