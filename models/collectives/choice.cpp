#include <algorithm>
#include <limits>

#include "models/collectives/algorithms.hpp"

namespace stepcast {

namespace algorithms {

namespace {

/// Latencies of NCCL's tables in µs: base and NVLink hop of a ring (nccl-model.md, NCCL 2.30.7).
struct RingLatency {
  double base, hop;
};
constexpr RingLatency kLl{6.6, 0.6}, kLl128{14.0, 1.9}, kSimple{8.4, 3.4};
constexpr double kNvls = 25;

// Devices of a node from which on the switch adds: four of a Hopper node get a ring's 345 to 367 GB/s of NCCL 2.29,
// eight get 450 to 480 (AIC-H200, XR-H100).
constexpr double kLeastInSwitch = 5;

}  // namespace

CollectiveProtocol tabled_protocol(CollectiveKind kind, Bytes payload, const Call& call, bool& in_switch) {
  const TunerTables& tables = call.net.tuner;
  in_switch = false;
  if (!tables.known || call.crosses()) return CollectiveProtocol::automatic;
  const double steps = (kind == CollectiveKind::all_reduce ? 2 : 1) * (call.n - 1);
  const double algorithm_share = call.n / steps;
  CollectiveProtocol best = CollectiveProtocol::ll;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](CollectiveProtocol protocol, double latency, double bus, bool nvls) {
    const double time = latency + payload.value() / (bus * algorithm_share * 1e3);  // GB/s are 10³ bytes per µs
    if (time >= least) return;
    least = time;
    best = protocol;
    in_switch = nvls;
  };
  const auto ring_latency = [&](const RingLatency& how) { return how.base + steps * how.hop; };
  consider(CollectiveProtocol::ll, ring_latency(kLl), std::min(tables.ll, 0.5 * tables.bus), false);
  consider(CollectiveProtocol::ll128, ring_latency(kLl128), std::min(0.92 * tables.bus, tables.ll128), false);
  consider(CollectiveProtocol::simple, ring_latency(kSimple), tables.bus, false);
  if (kind == CollectiveKind::all_reduce && tables.nvls > 0 && call.p >= kLeastInSwitch)
    consider(CollectiveProtocol::simple, kNvls, tables.nvls, true);
  return best;
}

namespace {

/// The fastest of the candidates that were tried.
class Fastest {
 public:
  void try_one(const Timed& candidate) {
    if (found_ && best_.time <= candidate.time) return;
    best_ = candidate;
    found_ = true;
  }
  [[nodiscard]] const Timed& best() const { return best_; }

 private:
  Timed best_;
  bool found_ = false;
};

/// Whether a protocol is to be tried: the forced one, or every one that the links allow.
bool allowed(CollectiveProtocol tried, CollectiveProtocol forced, const Interconnect& net) {
  return forced == CollectiveProtocol::automatic ? sending(tried, net).offered : tried == forced;
}

Timed by_ring(Bytes volume, double passes, CollectiveProtocol forced, const Call& call) {
  Fastest fastest;
  for (const CollectiveProtocol protocol : kProtocols)
    if (allowed(protocol, forced, call.net)) fastest.try_one(ring(volume, passes, protocol, call));
  return fastest.best();
}

Timed by_tree(Bytes payload, CollectiveProtocol forced, const Call& call) {
  Fastest fastest;
  for (const CollectiveProtocol protocol : kProtocols)
    if (allowed(protocol, forced, call.net)) fastest.try_one(tree_all_reduce(payload, protocol, call));
  return fastest.best();
}

Timed by_chain(Bytes payload, bool root_returns, CollectiveProtocol forced, const Call& call) {
  Fastest fastest;
  for (const CollectiveProtocol protocol : kProtocols)
    if (allowed(protocol, forced, call.net)) fastest.try_one(chain(payload, root_returns, protocol, call));
  return fastest.best();
}

}  // namespace

HierarchicalParts hierarchical_parts(Bytes payload, CollectiveProtocol protocol, const Call& call) {
  const auto members = static_cast<int>(call.p);
  HierarchicalParts parts;
  parts.inside = GroupShape{members, members, call.group.groups_per_node};
  parts.across = GroupShape{call.nodes, 1, call.group.groups_per_node * members, call.group.above};
  const Call in_node(parts.inside, call.net, call.width);
  const Call between(parts.across, call.net, call.width);
  parts.in_node = by_ring(payload * ((call.p - 1) / call.p), 1, protocol, in_node);
  const Bytes share = payload / call.p;
  parts.between = faster(by_ring(share * (2 * (between.n - 1) / between.n), 2, protocol, between),
                         by_tree(share, protocol, between));
  return parts;
}

namespace {

/// Reduce-scatter in the node, all-reduce of each share across the nodes, all-gather in the node: three calls, one
/// after another. The phases in the node meet no other traffic, so their time counts as latency around the one that
/// does.
Timed hierarchical(Bytes payload, CollectiveProtocol protocol, const Call& call) {
  if (call.p <= 1 || !call.crosses()) return by_ring(payload * (2 * (call.n - 1) / call.n), 2, protocol, call);
  const HierarchicalParts parts = hierarchical_parts(payload, protocol, call);
  Timed out = parts.between;
  out.cost.algorithm = CollectiveAlgorithm::hierarchical;
  out.cost.latency += 2 * parts.in_node.time;
  out.time += 2 * parts.in_node.time;
  return out;
}

Timed automatic_reduction(CollectiveKind kind, Bytes payload, CollectiveProtocol forced, const Call& call) {
  const double passes = kind == CollectiveKind::all_reduce ? 2 : 1;
  const Bytes volume = payload * (passes * (call.n - 1) / call.n);
  if (forced == CollectiveProtocol::automatic) {
    bool in_switch = false;
    const CollectiveProtocol tabled = tabled_protocol(kind, payload, call, in_switch);
    if (in_switch) return switch_sum(kind, payload, call);
    if (tabled != CollectiveProtocol::automatic) return ring(volume, passes, tabled, call);
  }
  Timed best = by_ring(volume, passes, forced, call);
  const bool simple = forced == CollectiveProtocol::automatic || forced == CollectiveProtocol::simple;
  if (kind == CollectiveKind::all_reduce) {
    // Inside one node NCCL's trees are chains, never faster than a ring for a buffer that is cut in pieces.
    if (call.crosses()) best = faster(best, by_tree(payload, forced, call));
    if (simple && call.net.switch_sums.rate > BytesPerSecond(0) && call.p >= kLeastInSwitch)
      best = faster(best, switch_sum(kind, payload, call));
  }
  // CollNet is off unless asked for (NCCL_COLLNET_ENABLE).
  return best;
}

Timed reduction(CollectiveKind kind, Bytes payload, CollectiveAlgorithm algorithm, CollectiveProtocol protocol,
                const Call& call) {
  const double passes = kind == CollectiveKind::all_reduce ? 2 : 1;
  const Bytes volume = payload * (passes * (call.n - 1) / call.n);
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return by_ring(volume, passes, protocol, call);
    case CollectiveAlgorithm::tree:
      return by_tree(payload, protocol, call);
    case CollectiveAlgorithm::hierarchical:
      return hierarchical(payload, protocol, call);
    case CollectiveAlgorithm::nvls:
    case CollectiveAlgorithm::nvls_tree:
      return switch_sum(kind, payload, call);
    case CollectiveAlgorithm::collnet:
      return network_sum(kind, payload, call);
    case CollectiveAlgorithm::pat:
      return pat(volume, call);
    case CollectiveAlgorithm::halving_doubling:
      return halving_doubling(payload, call);
    case CollectiveAlgorithm::recursive_doubling:
      return recursive_doubling(payload, call);
    case CollectiveAlgorithm::direct:
      return direct(volume, passes, call);
    case CollectiveAlgorithm::automatic:
    case CollectiveAlgorithm::chain:
      break;
  }
  return automatic_reduction(kind, payload, protocol, call);
}

}  // namespace

Timed choose(CollectiveKind kind, Bytes payload, CollectiveAlgorithm algorithm, CollectiveProtocol protocol,
             const Call& call) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return reduction(kind, payload, algorithm, protocol, call);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: {
      // What sums and what halves has a meaning for an all_reduce alone.
      const bool known = algorithm == CollectiveAlgorithm::direct || algorithm == CollectiveAlgorithm::pat ||
                         algorithm == CollectiveAlgorithm::nvls || algorithm == CollectiveAlgorithm::nvls_tree ||
                         algorithm == CollectiveAlgorithm::collnet || algorithm == CollectiveAlgorithm::automatic;
      return reduction(kind, payload, known ? algorithm : CollectiveAlgorithm::ring, protocol, call);
    }
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return by_chain(payload, kind == CollectiveKind::broadcast, protocol, call);
    case CollectiveKind::all_to_all:
      return all_to_all(payload, 1, call);
    case CollectiveKind::send_recv:
      return send_recv(payload, call);
    case CollectiveKind::barrier:
      return reduction(CollectiveKind::all_reduce, kBarrierPayload, algorithm, protocol, call);
  }
  return {};
}

}  // namespace algorithms

CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm,
                               CollectiveProtocol protocol, ElementWidth width) {
  if (group.size <= 1 || (payload <= Bytes(0) && kind != CollectiveKind::barrier)) return {};
  const algorithms::Call call(group, interconnect, width);
  CollectiveCost cost = algorithms::choose(kind, payload, algorithm, protocol, call).cost;
  cost.payload = payload;
  return cost;
}

CollectiveCost all_to_all_v_cost(Bytes payload, double imbalance, const GroupShape& group,
                                 const Interconnect& interconnect) {
  if (group.size <= 1 || payload <= Bytes(0)) return {};
  const algorithms::Call call(group, interconnect, ElementWidth::usual);
  return algorithms::all_to_all(payload, imbalance, call).cost;
}

}  // namespace stepcast
