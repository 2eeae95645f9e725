#include <algorithm>
#include <cmath>

#include "models/collectives/algorithm_table.hpp"

namespace stepcast {

namespace algorithms {

namespace {
// Losses over many nodes are counted from here on (docs/sources.md, benchmark fit: none up to 8 nodes).
constexpr int kNodesWithoutLoss = 8;

double loss_of(int nodes, const Interconnect& net) {
  if (nodes <= kNodesWithoutLoss || net.loss_per_doubling == 0) return 1;
  return 1 + net.loss_per_doubling * std::log2(static_cast<double>(nodes) / kNodesWithoutLoss);
}

/// Of the native ports. On a torus rings over whole nodes lie along all axes, so a device has its links in the whole of
/// it; those carry what leaves the nodes, too, which is 1/p of a ring's bytes and not counted as native.
double native_share_of(const GroupShape& group, const Interconnect& net) {
  const int ranks = std::min(group.per_node, group.size);
  const bool whole_nodes = group.nodes() > 1 && group.groups_per_node == 1 && ranks > 1;
  if (net.torus_share <= 0 || !whole_nodes) return net.native_share(ranks);
  return static_cast<double>(net.torus_share) * (ranks - 1) / ranks;
}

Seconds transfer(Bytes bytes, BytesPerSecond rate) { return bytes > Bytes(0) ? bytes / rate : Seconds(0); }

}  // namespace

Call::Call(const GroupShape& g, const Interconnect& i, ElementWidth w)
    : group(g),
      net(i),
      width(w),
      n(g.size),
      p(std::min(g.per_node, g.size)),
      k(g.nodes()),
      nodes(g.nodes()),
      native_share(native_share_of(g, i)),
      loss(loss_of(g.nodes(), i)),
      network_rate(i.network_rate(g)),
      tree_rate(i.network_rate(g, MessagePattern::tree)),
      pair_rate(i.network_rate(g, MessagePattern::direct)),
      next_rate(i.network_rate(g, MessagePattern::next)) {}

BytesPerSecond Call::rate(CollectiveAlgorithm algorithm) const {
  switch (pattern_of(algorithm)) {
    case MessagePattern::direct:
      return pair_rate;
    case MessagePattern::tree:
      return tree_rate;
    default:
      return network_rate;
  }
}

double Call::network_share(const SendProtocol& how, CollectiveAlgorithm algorithm) const {
  const BytesPerSecond whole = rate(algorithm);
  if (how.node_limit <= BytesPerSecond(0) || whole <= BytesPerSecond(0)) return how.network_share;
  return std::min(how.network_share, how.node_limit / (p * group.groups_per_node * whole));
}

Seconds Call::start() const { return crosses() ? net.launch + net.network_launch : net.launch; }

const SendProtocol& sending(CollectiveProtocol protocol, const Interconnect& net) {
  if (protocol == CollectiveProtocol::ll) return net.small_messages;
  return protocol == CollectiveProtocol::ll128 ? net.middle_messages : net.bulk;
}

Seconds flow(const Shape& shape, const Call& call) {
  return std::max(transfer(shape.native_bytes, call.net.native * shape.native_cap),
                  transfer(shape.network_bytes, call.rate(shape.algorithm) * (shape.network_cap / call.loss)));
}

Timed timed(const Shape& shape, const Call& call) {
  Timed out;
  CollectiveCost& cost = out.cost;
  cost.algorithm = shape.algorithm;
  cost.protocol = shape.protocol;
  cost.native_bytes = shape.native_bytes;
  cost.network_bytes = shape.network_bytes;
  cost.native_cap = shape.native_cap;
  cost.network_cap = shape.network_cap / call.loss;
  const Seconds bytes = flow(shape, call);
  out.start = call.start() + shape.fill_extra;
  // Chunks of the best size: the square root of a latency per chunk against a transfer (docs/sources.md, benchmark
  // fit).
  if (shape.fill > 0) {
    const Seconds idle = shape.fill_steps > Seconds(0) ? shape.fill_steps : shape.steps;
    out.start += Seconds(2 * std::sqrt(shape.fill * idle.value() * shape.filling * bytes.value()));
  }
  cost.latency = out.start + shape.steps;
  out.time = cost.latency + bytes;
  return out;
}

}  // namespace algorithms

void CollectiveCost::repeat(double times) {
  payload *= times;
  latency *= times;
  native_bytes *= times;
  network_bytes *= times;
}

Seconds CollectiveCost::alone(const Interconnect& net, const GroupShape& group) const {
  const BytesPerSecond rate = net.network_rate(group, pattern_of(algorithm));
  const Seconds native = native_bytes > Bytes(0) ? native_bytes / (net.native * native_cap) : Seconds(0);
  const Seconds network = network_bytes > Bytes(0) ? network_bytes / (rate * network_cap) : Seconds(0);
  return latency + std::max(native, network);
}

}  // namespace stepcast
