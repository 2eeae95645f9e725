#include <algorithm>

#include "models/collectives/algorithms.hpp"
#include "models/collectives/double_tree.hpp"

namespace stepcast::algorithms {

namespace {

double nvls_factor(const Call& call) {
  if (call.width == ElementWidth::narrow) return call.net.switch_sums.narrow_factor;
  return call.width == ElementWidth::wide ? call.net.wide_factor : 1;
}

}  // namespace

/// The switch of the node adds (and copies); trees join the nodes. Rate: bus bandwidth of an all_reduce; all_gather and
/// reduce_scatter use one of its two directions (docs/sources.md, NCCL's tables).
Timed switch_sum(CollectiveKind kind, Bytes payload, const Call& call) {
  const SwitchSums& sums = call.net.switch_sums;
  Shape shape;
  shape.algorithm = call.crosses() ? CollectiveAlgorithm::nvls_tree : CollectiveAlgorithm::nvls;
  shape.fill = sums.fill;
  const double passes = kind == CollectiveKind::all_reduce ? 2 : 1;
  const int levels = tree_levels(call.nodes);
  // A tree level of Simple overlaps its chunks with the next; NVLS waits for each (docs/sources.md, benchmark fit).
  shape.steps = sums.start + passes * levels * call.loss * call.net.bulk.tree_hop;
  // Through a port: the whole buffer for the sum and a rank's part of the result to be copied; a gather sends its part.
  const double counted = passes * (call.n - 1) / call.n;
  const double through = passes == 2 ? 1 + 1 / call.p : counted;
  shape.native_bytes = payload * through;
  shape.native_cap = sums.rate / call.net.native / nvls_factor(call) * (through / counted);
  if (call.crosses()) {
    shape.steps += call.net.tree_hops(call.group);
    const double load = passes == 2 ? double_tree_load(call.nodes) : (call.k - 1) / call.k;
    shape.network_bytes = payload * (load / call.p);
  }
  return timed(shape, call);
}

/// Each node hands its sum to the network once and gets the result once (docs/sources.md, NCCL's tables: direct 31 µs a
/// network hop, chain 30; 0.4 µs for each other device of the node).
Timed network_sum(CollectiveKind kind, Bytes payload, const Call& call) {
  constexpr Seconds kNetworkHop = 31_us;
  constexpr Seconds kDevice = 0.4_us;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::collnet;
  shape.fill = call.net.bulk.fill_ring;
  shape.fill_steps = kNetworkHop;
  const double passes = kind == CollectiveKind::all_reduce ? 2 : 1;
  const double others = call.p - 1;
  // Behind a switch every device reaches every other; in a mesh a chain passes through all (CollNet direct, chain).
  const bool switched = call.net.private_native;
  const Seconds inside = switched ? std::min(1.0, others) * call.net.bulk.native_hop + others * kDevice
                                  : others * call.net.bulk.native_hop;
  shape.steps = passes * inside + kNetworkHop;
  shape.native_bytes = payload * (passes * (call.p - 1) / call.p);
  shape.native_cap = call.native_share;
  if (call.crosses()) shape.network_bytes = payload / call.p;
  return timed(shape, call);
}

}  // namespace stepcast::algorithms
