#include <algorithm>
#include <limits>

#include "models/collectives/algorithm_table.hpp"

namespace stepcast {

namespace algorithms {

namespace {

/// Latencies of NCCL's tables in µs: base and NVLink hop of a ring (docs/sources.md, NCCL's tables).
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

/// Whether a protocol is to be tried: the forced one, or every one that links and network allow.
bool allowed(CollectiveProtocol tried, CollectiveProtocol forced, const Call& call) {
  if (forced != CollectiveProtocol::automatic) return tried == forced;
  const SendProtocol& how = sending(tried, call.net);
  return how.offered && (how.crosses || !call.crosses());
}

/// The fastest of a cost by protocol.
template <class CostByProtocol>
Timed by_protocol(CollectiveProtocol forced, const Call& call, const CostByProtocol& cost) {
  Fastest fastest;
  for (const CollectiveProtocol protocol : kProtocols)
    if (allowed(protocol, forced, call)) fastest.try_one(cost(protocol));
  return fastest.best();
}

/// The library's choice for what is reduced or gathered.
Timed reduction_by_library(const Asked& asked, const Call& call) {
  const CollectiveProtocol forced = asked.protocol;
  if (forced == CollectiveProtocol::automatic) {
    bool in_switch = false;
    const CollectiveProtocol tabled = tabled_protocol(asked.kind, asked.payload, call, in_switch);
    if (in_switch) return switch_sum(asked.kind, asked.payload, call);
    if (tabled != CollectiveProtocol::automatic) return ring(asked.volume(call), asked.passes(), tabled, call);
  }
  Timed best = by_ring(asked, call);
  const bool simple = forced == CollectiveProtocol::automatic || forced == CollectiveProtocol::simple;
  if (asked.kind == CollectiveKind::all_reduce) {
    // Inside one node NCCL's trees are chains, never faster than a ring for a buffer that is cut in pieces.
    if (call.crosses()) best = faster(best, by_tree(asked, call));
    const bool sums = call.net.switch_sums.rate > BytesPerSecond(0) && (call.net.switch_trees || !call.crosses());
    if (simple && sums && call.p >= kLeastInSwitch) best = faster(best, switch_sum(asked.kind, asked.payload, call));
  }
  // CollNet is off unless asked for (NCCL_COLLNET_ENABLE).
  return best;
}

}  // namespace

Timed by_ring(const Asked& asked, const Call& call) {
  return by_protocol(asked.protocol, call, [&](CollectiveProtocol protocol) {
    return ring(asked.volume(call), asked.passes(), protocol, call);
  });
}

Timed by_tree(const Asked& asked, const Call& call) {
  return by_protocol(asked.protocol, call,
                     [&](CollectiveProtocol protocol) { return tree_all_reduce(asked.payload, protocol, call); });
}

Timed by_chain(const Asked& asked, const Call& call) {
  const bool root_returns = asked.kind == CollectiveKind::broadcast;
  return by_protocol(asked.protocol, call,
                     [&](CollectiveProtocol protocol) { return chain(asked.payload, root_returns, protocol, call); });
}

Timed by_library(const Asked& asked, const Call& call) {
  switch (asked.kind) {
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return by_chain(asked, call);
    case CollectiveKind::all_to_all:
      return algorithms::all_to_all(asked.payload, asked.imbalance, call);
    case CollectiveKind::send_recv:
      return algorithms::send_recv(asked.payload, call);
    default:
      return reduction_by_library(asked, call);
  }
}

Timed choose(const Asked& asked, const Call& call) {
  Asked taken = asked;
  if (asked.kind == CollectiveKind::barrier) {
    taken.kind = CollectiveKind::all_reduce;
    taken.payload = kBarrierPayload;
  }
  // Who asks for an algorithm that has no gathers, as frameworks do for all collectives of a job, gets rings there.
  const bool gathers = taken.kind == CollectiveKind::all_gather || taken.kind == CollectiveKind::reduce_scatter;
  if (!entry_of(taken.algorithm).kinds.has(taken.kind))
    taken.algorithm = gathers ? CollectiveAlgorithm::ring : CollectiveAlgorithm::automatic;
  return entry_of(taken.algorithm).cost(taken, call);
}

}  // namespace algorithms

CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm,
                               CollectiveProtocol protocol, ElementWidth width, double imbalance) {
  if (group.size <= 1 || (payload <= Bytes(0) && kind != CollectiveKind::barrier)) return {};
  const algorithms::Call call(group, interconnect, width);
  CollectiveCost cost = algorithms::choose({kind, payload, algorithm, protocol, imbalance}, call).cost;
  cost.payload = payload;
  return cost;
}

CollectiveCost forwarded_cost(Bytes to_nodes, Bytes to_ranks, const GroupShape& group,
                              const Interconnect& interconnect) {
  if (group.size <= 1 || to_ranks <= Bytes(0)) return {};
  const algorithms::Call call(group, interconnect, ElementWidth::usual);
  CollectiveCost cost = algorithms::forwarded(to_nodes, to_ranks, call).cost;
  cost.payload = call.crosses() ? to_nodes : to_ranks;
  return cost;
}

}  // namespace stepcast
