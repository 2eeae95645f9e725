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

/// Fills in the shares that depend on the group and not on the algorithm.
CollectiveCost placed(CollectiveCost cost, const GroupShape& group, const Interconnect& net) {
  cost.native_cap *= net.native_share(std::min(group.per_node, group.size));
  cost.network_cap *= wire_share(group.nodes());
  return cost;
}

/// The faster of small-message and bulk protocol.
template <class Algorithm>
CollectiveCost best_protocol(const GroupShape& group, const Interconnect& net, Algorithm&& algorithm) {
  const CollectiveCost small = placed(algorithm(net.small_messages), group, net);
  const CollectiveCost bulk = placed(algorithm(net.bulk), group, net);
  return small.alone(net, group) < bulk.alone(net, group) ? small : bulk;
}

CollectiveCost ring_cost(Bytes volume, double passes, const GroupShape& group, const Interconnect& net) {
  const Members m(group);
  return best_protocol(group, net, [&](const SendProtocol& how) { return ring(volume, passes, m, net, how); });
}

CollectiveCost tree_cost(Bytes payload, const GroupShape& group, const Interconnect& net) {
  const Members m(group);
  return best_protocol(group, net, [&](const SendProtocol& how) { return tree(payload, group, m, net, how); });
}

CollectiveCost ring_all_reduce(Bytes payload, const GroupShape& group, const Interconnect& net) {
  return ring_cost(payload * (2.0 * (group.size - 1) / group.size), 2, group, net);
}

CollectiveCost faster(const CollectiveCost& a, const CollectiveCost& b, const GroupShape& group,
                      const Interconnect& net) {
  return b.alone(net, group) < a.alone(net, group) ? b : a;
}

/// Reduce-scatter in the node, all-reduce of each share across the nodes, all-gather in the node: three calls, one
/// after another. The phases in the node meet no other traffic, so their time counts as latency around the one that
/// does.
CollectiveCost hierarchical_all_reduce(Bytes payload, const GroupShape& group, const Interconnect& net) {
  const int members = std::min(group.per_node, group.size);
  if (members == 1 || group.nodes() == 1) return ring_all_reduce(payload, group, net);
  const GroupShape inside{members, members, group.groups_per_node};
  const GroupShape across{group.nodes(), 1, group.groups_per_node * members};
  const Bytes volume = payload * ((members - 1.0) / members);
  const Seconds phase = ring_cost(volume, 1, inside, net).alone(net, inside);
  const Bytes share = payload / members;
  CollectiveCost cost = faster(ring_all_reduce(share, across, net), tree_cost(share, across, net), across, net);
  cost.algorithm = CollectiveAlgorithm::hierarchical;
  cost.latency += 2 * phase;
  return cost;
}

CollectiveCost all_reduce(Bytes payload, const GroupShape& group, const Interconnect& net,
                          CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return ring_all_reduce(payload, group, net);
    case CollectiveAlgorithm::tree:
      return tree_cost(payload, group, net);
    case CollectiveAlgorithm::hierarchical:
      return hierarchical_all_reduce(payload, group, net);
    case CollectiveAlgorithm::automatic:
      break;
  }
  const CollectiveCost by_ring = ring_all_reduce(payload, group, net);
  // Inside one node NCCL's trees are chains, never faster than a ring for a buffer that is cut in pieces.
  if (group.nodes() == 1) return by_ring;
  return faster(by_ring, tree_cost(payload, group, net), group, net);
}

/// Direct exchange with every peer, one message each.
CollectiveCost all_to_all(Bytes payload, const GroupShape& group, const Interconnect& net) {
  const Members m(group);
  CollectiveCost cost;
  cost.latency = net.launch + (m.p - 1) * net.peer_start;
  cost.native_bytes = payload * ((m.p - 1) / m.n);
  if (m.crosses()) {
    cost.latency += net.network_launch + (m.n - m.p) * net.remote_peer_start;
    cost.network_bytes = payload * ((m.n - m.p) / m.n);
  }
  cost.native_cap = net.all_to_all_native_share;
  cost.network_cap = net.all_to_all_share;
  return placed(cost, group, net);
}

/// Every rank sends one message to the next rank of the group. Across nodes the rank at a node's edge is the slowest
/// and stands for all.
CollectiveCost send_recv(Bytes payload, const GroupShape& group, const Interconnect& net) {
  CollectiveCost cost;
  const Members m(group);
  if (m.crosses()) {
    cost.latency = net.launch + net.network_launch + net.network_hop;
    cost.network_bytes = payload;
    // One message goes over one NIC, however many the device has.
    const bool several = net.rank_network > net.nic && net.nic > BytesPerSecond(0);
    cost.network_cap = net.send_share * (several ? net.nic / net.rank_network : 1);
    return cost;
  }
  cost.latency = net.launch + net.native_hop;
  cost.native_bytes = payload;
  cost.native_cap = net.native_share(group.size);
  return cost;
}

Seconds transfer(Bytes bytes, BytesPerSecond rate) { return bytes > Bytes(0) ? bytes / rate : Seconds(0); }

}  // namespace

Seconds CollectiveCost::alone(const Interconnect& net, const GroupShape& group) const {
  const Seconds native = transfer(native_bytes, net.native * native_cap);
  if (network_bytes <= Bytes(0)) return latency + native;
  const BytesPerSecond own = net.rank_network > BytesPerSecond(0) ? net.rank_network : net.node_network;
  const double ranks = static_cast<double>(std::min(group.per_node, group.size)) * group.groups_per_node;
  const BytesPerSecond shared = net.node_network / std::max(1.0, net.uplink_oversubscription);
  const Seconds network = std::max(transfer(network_bytes, own), transfer(network_bytes * ranks, shared));
  return latency + std::max(native, network / network_cap);
}

CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm) {
  if (group.size <= 1 || payload <= Bytes(0)) return {};
  const Bytes forwarded = payload * ((group.size - 1.0) / group.size);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return all_reduce(payload, group, interconnect, algorithm);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return ring_cost(forwarded, 1, group, interconnect);
    case CollectiveKind::broadcast:
      return ring_cost(payload, 1, group, interconnect);
    case CollectiveKind::all_to_all:
      return all_to_all(payload, group, interconnect);
    case CollectiveKind::send_recv:
      return send_recv(payload, group, interconnect);
  }
  return {};
}

}  // namespace stepcast
