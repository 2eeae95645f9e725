#include <algorithm>
#include <bit>
#include <cmath>

#include "models/collectives/algorithms.hpp"

namespace stepcast::algorithms {

namespace {

// Of a message's bulk rate in LL: each 8 bytes carry 4 of data.
constexpr double kSmallShare = 0.5;

Seconds remote_peer_start(const Call& call, Bytes message) {
  const Seconds among_few = call.net.remote_peer_start;
  Seconds start = among_few;
  const Seconds at_scale = call.net.remote_peer_start_at_scale;
  if (at_scale > Seconds(0) && call.k > kFewNodes) start += (at_scale - start) * (1 - kFewNodes / call.k);
  // What small messages wait for is the same among many.
  if (message <= call.net.peers.small_limit) start = std::max(start, among_few * call.net.peers.small_factor);
  return start;
}

// Channels of one message between nodes: two, but one where that would be more than four messages for each of the
// channels that the ranks of a node have, eight nodes' worth (NCCL 2.2x, ncclTopoGetNchannels: 2·ranks against four
// times the channels of point-to-point messages, 32 of a node of eight). Measured: 40 to 46 GB/s of a 400G NIC on two
// nodes, 25 on ten (XR-H100).
constexpr int kNodesOfTwoChannels = 8;
double network_channels(const Call& call) { return call.nodes <= kNodesOfTwoChannels ? 2 : 1; }

/// Share of the native rate that a rank reaches towards `others` peers in its node.
double peer_share(const Call& call, double others) {
  const Interconnect& net = call.net;
  double share = net.all_to_all_native_share * net.link_share(static_cast<int>(call.p));
  if (net.peers.peer_rate > BytesPerSecond(0)) share = std::min(share, others * (net.peers.peer_rate / net.native));
  return share;
}

/// A message of a shape in LL and in Simple: whichever is faster.
Timed either(const Shape& bulk, Seconds small_steps, double small_share, const Call& call) {
  Shape small = bulk;
  small.protocol = CollectiveProtocol::ll;
  small.steps = small_steps;
  small.fill = 0;
  small.native_cap *= small_share;
  small.network_cap *= small_share;
  if (call.crosses() && !call.net.small_messages.crosses) return timed(bulk, call);
  return faster(timed(small, call), timed(bulk, call));
}

}  // namespace

Timed direct(Bytes volume, double passes, const Call& call) {
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::direct;
  shape.steps = passes * ((call.p - 1) * call.net.peer_start + call.net.direct_hops(call.group));
  shape.native_bytes = volume * ((call.p - 1) / (call.n - 1));
  shape.native_cap = peer_share(call, call.p - 1);
  if (call.crosses()) {
    shape.steps += passes * (call.n - call.p) * remote_peer_start(call, volume / (passes * (call.n - 1)));
    shape.network_bytes = volume * ((call.n - call.p) / (call.n - 1));
    shape.network_cap = call.net.all_to_all_share;
  }
  return timed(shape, call);
}

/// Direct exchange with every peer, one message each.
Timed all_to_all(Bytes payload, double imbalance, const Call& call) {
  const PeerMessages& peers = call.net.peers;
  const Bytes message = payload / call.n;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::direct;
  const Seconds steps = (call.p - 1) * call.net.peer_start + call.net.direct_hops(call.group);
  shape.native_bytes = message * ((call.p - 1) * imbalance);
  shape.native_cap = peer_share(call, call.p - 1);
  if (!call.crosses()) {
    shape.steps = steps + peers.simple_start;
    shape.fill = peers.fill;
    Timed bulk = timed(shape, call);
    if (peers.small_rate <= BytesPerSecond(0)) return bulk;
    // All peers are served at once in LL, each over a channel of its own.
    Shape small = shape;
    small.protocol = CollectiveProtocol::ll;
    small.steps = steps;
    small.fill = 0;
    small.native_cap = std::min(shape.native_cap, (call.p - 1) * (peers.small_rate / call.net.native));
    return faster(timed(small, call), bulk);
  }
  const Seconds remote = (call.n - call.p) * remote_peer_start(call, message);
  shape.network_bytes = message * ((call.n - call.p) * imbalance);
  shape.network_cap = call.net.all_to_all_share;
  shape.steps = peers.network_simple_start;
  shape.fill = peers.network_fill;
  shape.fill_extra = steps + remote;  // peers are started one after another, whatever their messages' size
  return either(shape, Seconds(0), kSmallShare, call);
}

/// Messages between nodes go to one rank of each, whatever the ranks that want them; their library starts them as NCCL
/// does, but has no LL.
Timed forwarded(Bytes to_nodes, Bytes to_ranks, const Call& call) {
  if (!call.crosses()) return all_to_all(to_ranks, 1, call);
  const PeerMessages& peers = call.net.peers;
  const Bytes message = to_nodes / call.k;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::direct;
  shape.native_bytes = to_ranks * ((call.p - 1) / call.p);
  shape.native_cap = peer_share(call, call.p - 1);
  shape.network_bytes = message * (call.k - 1);
  shape.network_cap = call.net.all_to_all_share;
  shape.steps = peers.network_simple_start;
  shape.fill = peers.network_fill;
  shape.fill_extra = (call.p - 1) * call.net.peer_start + call.net.direct_hops(call.group) +
                     (call.k - 1) * remote_peer_start(call, message);
  return timed(shape, call);
}

/// Every rank sends one message to the next rank of the group. Across nodes the rank at a node's edge is the slowest
/// and decides; of what its node sends a rank's share is counted, as in a ring.
Timed send_recv(Bytes payload, const Call& call) {
  const Interconnect& net = call.net;
  const PeerMessages& peers = net.peers;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::ring;
  if (call.crosses()) {
    shape.steps = net.network_hop + net.direct_hops(call.group) + peers.network_simple_start;
    shape.network_bytes = payload / call.p;
    // One message goes over one NIC, however many the device has.
    const bool several = net.rank_network > net.nic && net.nic > BytesPerSecond(0);
    shape.network_cap = net.send_share * (several ? net.nic / net.rank_network : 1);
    if (peers.channel > BytesPerSecond(0) && net.rank_network > BytesPerSecond(0))
      shape.network_cap = std::min(shape.network_cap, peers.channel * network_channels(call) / net.rank_network);
    // What one message does not reach of NICs is no loss of up-links that carry less.
    GroupShape unheld = call.group;
    unheld.above = {};
    const BytesPerSecond nics = net.network_rate(unheld, MessagePattern::next);
    shape.network_cap = std::min(1.0, shape.network_cap * (nics / call.next_rate));
    if (net.message_rate > BytesPerSecond(0))
      shape.network_cap = std::min(shape.network_cap, net.message_rate / call.next_rate);
    shape.network_cap *= call.next_rate / (call.p * call.network_rate);
    return either(shape, net.network_hop + net.direct_hops(call.group), kSmallShare, call);
  }
  shape.steps = net.native_hop + peers.simple_start;
  shape.native_bytes = payload;
  double share = peer_share(call, call.p - 1);
  if (peers.channel > BytesPerSecond(0)) {
    // A device's channels are split over the ranks of its node; a message that would take long gets more.
    const auto ranks = std::bit_ceil(static_cast<unsigned>(call.p));
    const double few = std::min(share, (peers.channels / static_cast<double>(ranks)) * (peers.channel / net.native));
    const Seconds slow = std::min(payload / (net.native * few), std::max(peers.growth, payload / (net.native * share)));
    share = payload / (net.native * slow);
  }
  shape.native_cap = share;
  shape.fill = peers.fill;
  return either(shape, net.native_hop, net.small_messages.native_share, call);
}

Timed chain(Bytes payload, bool root_returns, CollectiveProtocol protocol, const Call& call) {
  const Interconnect& net = call.net;
  const SendProtocol& how = sending(protocol, net);
  const RootMessages& root = net.root;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::chain;
  shape.protocol = protocol;
  const double across = call.k - 1;
  const double inside = call.n - 1 - across;
  const bool small = protocol != CollectiveProtocol::simple;
  const double hop_share = root_returns && small ? root.hop_share : 1;
  shape.steps = inside * how.native_hop + across * hop_share * how.network_hop;
  if (call.crosses()) shape.steps += net.ring_hops(call.group, 1);
  const Seconds slot = call.crosses() ? root.slot : root.slot_in_node;
  if (root_returns && small && slot > Seconds(0)) shape.steps = std::min(shape.steps, slot * payload.in(1_KiB));
  shape.native_cap = how.native_share * call.native_share;
  shape.network_cap = call.network_share(how, shape.algorithm);
  shape.network_bytes = call.crosses() ? payload / call.p : Bytes(0);
  shape.native_bytes = call.crosses() ? payload * ((call.p - 1) / call.p) : payload;
  shape.fill = small ? 0 : how.fill_ring;
  if (call.crosses() && !small && root.chain_hop > Seconds(0)) {
    // Large messages are cut finely enough that the chain's nodes overlap, at a price of their own.
    const Seconds flow = shape.network_bytes / (call.network_rate * shape.network_cap);
    shape.fill = 0;
    shape.fill_extra = Seconds(2 * std::sqrt(root.chain_hop.value() * across * flow.value()));
  }
  Timed out = timed(shape, call);
  if (root_returns && call.crosses()) {
    // The root's way into the network is its first hop.
    out.start -= net.network_launch;
    out.cost.latency -= net.network_launch;
    out.time -= net.network_launch;
  }
  return out;
}

}  // namespace stepcast::algorithms
