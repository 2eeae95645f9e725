#include <algorithm>
#include <cmath>

#include "models/collectives/algorithms.hpp"
#include "models/collectives/channels.hpp"
#include "models/collectives/double_tree.hpp"

namespace stepcast::algorithms {

namespace {

// A network whose own library tells small messages from others (Slingshot) asks the receiver before it sends a large
// one. all_gather of ALCF-Polaris takes twice as long or more where a rank's block over all channels reaches 16 KiB, on
// 8, 256 and 540 nodes alike (libfabric's CXI provider: FI_CXI_RDZV_THRESHOLD, 16384 in early releases, 2048 of a
// message later).
constexpr Bytes kRendezvous = 16_KiB;
// A block is a quotient: one of that size must not fall short of it by rounding.
constexpr double kRounding = 1 - 1e-9;

/// LL step between nodes, which some networks slow down when a rank has many partners, or when its block is large
/// enough to wait for its receiver: then it takes what the large messages of Simple take.
Seconds network_hop(CollectiveProtocol protocol, const SendProtocol& how, Bytes block, const Call& call) {
  const bool asks = call.net.peers.small_limit > Bytes(0) && block >= kRendezvous * kRounding;
  if (asks) return std::max(how.network_hop, call.net.bulk.network_hop);
  const Seconds at_scale = call.net.network_hop_at_scale;
  if (protocol == CollectiveProtocol::simple || at_scale <= Seconds(0) || call.k <= kFewNodes) return how.network_hop;
  const double ratio = at_scale / call.net.small_messages.network_hop;
  return how.network_hop * (1 + (ratio - 1) * (1 - kFewNodes / call.k));
}

/// Time of the bytes on links inside the node: devices add there, the wire only carries.
double element_factor(const Call& call) { return call.width == ElementWidth::wide ? call.net.wide_factor : 1; }

// LL opens another channel once each has so much of every rank's part: 512 threads of 8 B (NCCL, src/enqueue.cc:
// NCCL_LL_MAX_NTHREADS · NCCL_LL_THREAD_THRESHOLD, times the ranks of a ring).
constexpr Bytes kLlBlock = 4_KiB;

/// What a full block adds to LL's hops, as a share of them. Until every channel has a block, larger messages only open
/// more channels, so the time of a call rises to here, and stays until the links are full.
double full_block(Bytes payload, double parts, double share) {
  return share * std::min(1.0, payload / (kLlBlock * parts));
}

/// Channels of one of the groups of a node: those of its NICs, as far as NCCL opens them (MAXCHANNELS, 32 in most
/// versions).
double channels(const Call& call) {
  constexpr double kMostChannels = 32;
  return std::clamp(1.0 * kChannelsOfNic * call.net.nics / call.group.groups_per_node, 1.0, kMostChannels);
}

/// Of a tree's buffer in LL what exceeds one block on each channel. Only that is cut: up to there larger messages open
/// more channels (tables of 8 × H100 grow by no more than their bytes take from 4 to 64 KiB).
double beyond_blocks(Bytes payload, const Call& call) { return std::max(0.0, 1 - kLlBlock * channels(call) / payload); }

/// What hops between nodes add to the time of the bytes. The proxies keep several chunks on their way, so a hop that is
/// shorter than the next block takes to send is not waited for, and one that is longer is waited for in every step: the
/// longer of the two sums decides, rounded where they are alike.
Seconds not_hidden(Seconds hops, Seconds bytes) {
  const double a = hops.value(), b = bytes.value();
  return Seconds(std::sqrt(a * a + b * b)) - bytes;  // far from overflow, and hypot is ten times slower
}

/// Devices reach the network by NICs that they share with others of their node.
bool share_nics(const Call& call) {
  const double ranks = call.p * call.group.groups_per_node;
  return call.net.rank_network * ranks > call.net.node_network * (1 + 1e-9);
}

/// What a node sends in a tree, in buffers. NCCL rates a tree over two nodes by the links inside them (docs/sources.md,
/// NCCL's tables). Where devices share NICs it runs a ring: two nodes of ALCF-Polaris send as much of the wire in an
/// all_reduce as in an all_gather, and steps of eight A100 behind a switch over four InfiniBand NICs fit no faster one.
/// Those of AWS' p4d send more than the wire has.
double tree_load(const Call& call) {
  if (call.nodes == 2 && share_nics(call) && !call.net.two_node_tree) return 2 * (call.n - 1) / call.n;
  return double_tree_load(call.nodes);
}

}  // namespace

/// Multi-rail rings: every channel passes through the p members of a node and leaves by another one's NIC, so of the
/// `volume` that each rank forwards, 1/p leaves the node and (p − 1)/p stays on native ports.
Timed ring(Bytes volume, double passes, CollectiveProtocol protocol, const Call& call) {
  const SendProtocol& how = sending(protocol, call.net);
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::ring;
  shape.protocol = protocol;
  // LL's pieces are lines, so inside a node there is nothing to fill; between nodes its proxies hand on whole chunks.
  const bool lines = protocol == CollectiveProtocol::ll;
  shape.fill = !lines ? how.fill_ring : call.crosses() ? call.net.bulk.fill_ring : 0;
  const double network_steps = call.crosses() ? passes * (call.k - 1) : 0;
  const double native_steps = passes * (call.n - 1) - network_steps;
  shape.steps = native_steps * how.native_hop;
  const Seconds blocks =
      lines ? shape.steps * full_block(volume * (call.n / (passes * (call.n - 1))), call.n, how.fill_ring) : Seconds(0);
  shape.native_cap = how.native_share * call.native_share / element_factor(call);
  shape.network_cap = call.network_share(how, shape.algorithm);
  if (call.crosses()) {
    shape.network_bytes = volume / call.p;
    shape.native_bytes = volume * ((call.p - 1) / call.p);
    const Bytes block = volume / (passes * (call.n - 1));
    const Seconds hops =
        network_steps * network_hop(protocol, how, block, call) + call.net.ring_hops(call.group, passes);
    // A library that cuts nothing sends one block after another.
    shape.steps += blocks + (shape.fill > 0 ? not_hidden(hops, flow(shape, call)) : hops);
  } else {
    shape.native_bytes = volume;
  }
  // A rank's own part of a gather is copied beside what it receives.
  if (passes == 1) shape.native_cap *= (call.n - 1) / (call.n - 1 + call.net.own_share);
  // Inside a node blocks and bytes are the same data: the longer of the two.
  if (!call.crosses()) shape.fill_extra = std::max(Seconds(0), blocks - flow(shape, call));
  // Every rank sends its own part from the first step on: a ring waits for one hop's chunk, however many steps it has
  // (eight devices lose little more than two, an all_reduce little more than a gather).
  shape.fill_steps = call.crosses() ? std::max(how.native_hop, how.network_hop) : how.native_hop;
  return timed(shape, call);
}

/// Double binary tree over the nodes with a chain inside each: up and down.
Timed tree_all_reduce(Bytes payload, CollectiveProtocol protocol, const Call& call) {
  const SendProtocol& how = sending(protocol, call.net);
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::tree;
  shape.protocol = protocol;
  // Chunks go up and down the levels in every protocol; in LL a level waits for its whole block as well.
  const bool lines = protocol == CollectiveProtocol::ll;
  shape.fill = lines ? call.net.bulk.fill_tree : how.fill_tree;
  if (lines) shape.filling = beyond_blocks(payload, call);
  // LL128's lines pass on as they come: one level's chunk.
  if (protocol == CollectiveProtocol::ll128) shape.fill_steps = std::max(how.native_hop, how.tree_hop);
  // A chain over the devices of a node, or of a rack that is one node to the library (MNNVL).
  const double chain = call.p - 1;
  const double level = 1 + (lines ? full_block(payload, 1, how.fill_tree) : 0);
  shape.steps = 2 * (chain * how.native_hop + tree_levels(call.nodes) * call.loss * level * how.tree_hop);
  if (call.crosses()) shape.steps += call.net.tree_hops(call.group);
  // Inside the node a chain passes the whole buffer up and down; counted as a ring's share of links.
  shape.native_bytes = payload * (2 * (call.p - 1) / call.p);
  shape.native_cap = how.native_share * call.native_share * call.net.tree_native_share / element_factor(call);
  if (call.crosses()) shape.network_bytes = payload * (tree_load(call) / call.p);
  shape.network_cap = call.network_share(how, shape.algorithm);
  return timed(shape, call);
}

/// PAT: log2(n) steps between nodes whose messages grow, then a linear part that the last steps' many small pieces cost
/// (docs/sources.md: rate × 0.75, log2(nodes)·inter/3.5 + 2.8 µs·ranks there is a tuner's figure; steps are ours).
Timed pat(Bytes volume, const Call& call) {
  constexpr double kRate = 0.75;
  const SendProtocol& how = call.net.bulk;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::pat;
  shape.steps =
      tree_levels(call.nodes) * call.loss * how.tree_hop + tree_levels(static_cast<int>(call.p)) * how.native_hop;
  if (call.crosses()) shape.steps += call.net.tree_hops(call.group) * 0.5;
  shape.network_bytes = call.crosses() ? volume / call.p : Bytes(0);
  shape.native_bytes = call.crosses() ? volume * ((call.p - 1) / call.p) : volume;
  shape.native_cap = kRate * call.native_share;
  shape.network_cap = kRate;
  return timed(shape, call);
}

/// Rabenseifner's all-reduce: reduce-scatter by recursive halving with the nearest partner first, then back.
Timed halving_doubling(Bytes payload, const Call& call) {
  const SendProtocol& how = call.net.bulk;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::halving_doubling;
  shape.steps =
      2 * (tree_levels(static_cast<int>(call.p)) * how.native_hop + tree_levels(call.nodes) * call.loss * how.tree_hop);
  if (call.crosses()) shape.steps += call.net.tree_hops(call.group);
  shape.native_bytes = payload * (2 * (1 - 1 / call.p));
  shape.network_bytes = payload * (2 * (1 - 1 / call.k) / call.p);
  shape.native_cap = call.native_share;
  return timed(shape, call);
}

/// Every step exchanges the whole buffer with the partner at distance 2^s.
Timed recursive_doubling(Bytes payload, const Call& call) {
  const SendProtocol& how = call.net.small_messages;
  Shape shape;
  shape.algorithm = CollectiveAlgorithm::recursive_doubling;
  shape.protocol = CollectiveProtocol::ll;
  const int inside = tree_levels(static_cast<int>(call.p));
  const int across = tree_levels(call.nodes);
  shape.steps = inside * how.native_hop + across * call.loss * how.tree_hop;
  if (call.crosses()) shape.steps += call.net.tree_hops(call.group) * 0.5;
  shape.native_bytes = payload * inside;
  shape.network_bytes = payload * across;
  shape.native_cap = how.native_share * call.native_share;
  shape.network_cap = call.network_share(how, shape.algorithm);
  return timed(shape, call);
}

}  // namespace stepcast::algorithms
