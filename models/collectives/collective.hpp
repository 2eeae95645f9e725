#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "units/quantity.hpp"

namespace stepcast {

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv, reduce, barrier };
template <>
struct EnumNames<CollectiveKind> {
  static constexpr std::array names{"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                    "broadcast",  "send_recv",  "reduce",         "barrier"};
};

/// Levels of a fabric above the node that a cost can name: leaf, pod, site and one more.
inline constexpr std::size_t kFabricLevels = 4;

/// What the nodes of one member of a fabric level (of a leaf) send to nodes outside it while all groups of a dimension
/// communicate, counted in the whole network traffic of one node; collisions of hashed flows included.
struct LevelLoad {
  float ring = 0;     ///< of rings and trees over nodes, which mostly pass from neighbour to neighbour
  float direct = 0;   ///< of exchanges between all pairs
  int crossings = 0;  ///< times that a ring over one group's nodes leaves a member of the level
};

/// Where the members of a communication group sit: `size` ranks, `per_node` of them on each node that it touches.
/// Groups of different ranks of a node run side by side: `groups_per_node` is how many.
struct GroupShape {
  int size = 1;
  int per_node = 1;
  int groups_per_node = 1;
  std::array<LevelLoad, kFabricLevels> above{};  ///< by level of Interconnect::uplinks
  [[nodiscard]] int nodes() const { return (size + per_node - 1) / per_node; }
};

/// How one step of a collective is paid for in one of a library's two ways to send. NCCL's LL writes data and flag
/// together: quick to start, a fraction of the bandwidth. Its Simple protocol sends whole chunks at the links' rate.
/// Source of the split: docs/models/collectives.md.
struct SendProtocol {
  Seconds native_hop;       ///< one ring or chain step inside the node
  Seconds network_hop;      ///< one ring step between nodes
  Seconds tree_hop;         ///< one tree level between nodes, in one direction
  double native_share = 1;  ///< of `native` that it reaches
  double network_share = 1;
};

/// What leads out of one member of a fabric level.
struct FabricUplink {
  BytesPerSecond up;  ///< of all its links together, per direction, achievable
  Seconds hop;        ///< one-way latency that it adds
};

/// Rates and latencies of the links that a rank's traffic meets, as the cost functions and the engine see them.
struct Interconnect {
  BytesPerSecond native;  ///< per device and direction inside the node (NVLink, xGMI, PCIe), achievable
  Seconds native_hop;
  bool private_native = true;   ///< switched or meshed: one device's native traffic meets no other's
  BytesPerSecond host_link;     ///< PCIe per device and direction, achievable
  BytesPerSecond nic;           ///< one NIC, per direction, achievable
  BytesPerSecond node_network;  ///< all training NICs of a node
  int nics = 0;
  double uplink_oversubscription = 1;
  Seconds network_hop;  ///< one message over the fabric, NIC to NIC, as a point-to-point send pays it
  Seconds launch;       ///< start of a collective kernel

  BytesPerSecond rank_network;  ///< what the NICs of one device carry: never less than one NIC, shared or not
  Seconds network_launch;       ///< once for a collective that leaves the node
  SendProtocol small_messages, bulk;
  Seconds peer_start;                  ///< all_to_all: for each peer inside the node
  Seconds remote_peer_start;           ///< all_to_all: for each peer on another node
  double all_to_all_share = 1;         ///< of `rank_network` that an all_to_all reaches
  double all_to_all_native_share = 1;  ///< of `native`
  double send_share = 1;               ///< of one NIC that a single point-to-point message reaches
  /// Share of `native` that a group of so many ranks on a node can use: all of it behind a switch, its own links alone
  /// in a mesh. Larger groups use the last entry.
  std::array<double, 17> native_share_by_ranks = every_share_one();
  [[nodiscard]] double native_share(int ranks) const;
  boost::container::static_vector<FabricUplink, kFabricLevels> uplinks;  ///< levels that can hold traffic up
  /// What one rank of a group gets of the network while all `groups_per_node` groups of its node communicate: its own
  /// NICs, or its part of the node's NICs and of every level's up-links. `direct`: all pairs exchange.
  [[nodiscard]] BytesPerSecond network_rate(const GroupShape& group, bool direct = false) const;
  /// Latency that the levels add to `passes` rounds of a ring over a group's nodes, to a tree's way up and down, and to
  /// messages between pairs.
  [[nodiscard]] Seconds ring_hops(const GroupShape& group, double passes) const;
  [[nodiscard]] Seconds tree_hops(const GroupShape& group) const;
  [[nodiscard]] Seconds direct_hops(const GroupShape& group) const;

 private:
  static constexpr std::array<double, 17> every_share_one() {
    std::array<double, 17> shares{};
    for (double& share : shares) share = 1;
    return shares;
  }
};

/// The interconnect of a scenario's nodes and fabric. What the catalogue does not say (protocol latencies, achievable
/// shares by kind of link) comes from tables with their sources in interconnect.cpp.
Interconnect interconnect_of(const Scenario& scenario);

/// Cost of one collective for one representative rank, in the α-β form that the closed form sums and the engine
/// executes: `latency` is paid first; then the bytes flow over each class of link side by side and the slowest decides.
struct CollectiveCost {
  Seconds latency;
  Bytes native_bytes;   ///< this rank sends over its native port
  Bytes network_bytes;  ///< this rank's share of what its node sends over the NICs
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  double native_cap = 1;   ///< share of the native rate that this algorithm reaches for this payload
  double network_cap = 1;  ///< the same of the network rates
  /// Time on idle links: latency, then the slowest of the rank's native port, its own NICs, and the node's NICs and
  /// up-link, which all `groups_per_node` groups of the node use at once.
  [[nodiscard]] Seconds alone(const Interconnect& interconnect, const GroupShape& group) const;
};

/// The cost of `payload` bytes per rank (all_gather: gathered size; reduce_scatter: size before; all_to_all: what a
/// rank sends in all, its own part included; broadcast: the buffer; send_recv: the message to the next rank of the
/// group). `automatic` takes the faster of ring and tree, with the faster of both protocols. Allocates nothing.
/// Sources: Thakur et al. 2005, Patarasuk & Yuan 2009; NCCL's step counts (docs/models/collectives.md).
CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect,
                               CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

/// Who sends to whom in a phase of a collective.
enum class MessagePattern : std::uint8_t {
  ring,              ///< step s: each rank sends to the next, after what it received in step s − 1
  halving_doubling,  ///< step s: partner rank xor 2^s, half as many bytes each step, and back again
  doubling,          ///< step s: partner rank xor 2^s, all bytes each step
  tree,              ///< streamed up and down the double binary tree over nodes, a chain inside each
  chain,             ///< streamed from each rank to the next, the last one excepted
  in_switch,         ///< streamed from every rank to the switch and back, which adds or copies
  direct             ///< every rank to every other, some peers at a time
};

/// Which ranks a phase joins: all, those of each node, or those of equal place on all nodes.
enum class PhaseScope : std::uint8_t { whole, in_node, across_nodes };

/// One phase of a collective, for one representative rank. Stepwise patterns (ring, halving_doubling, doubling) spend
/// latency and, unless the pattern says otherwise, bytes evenly over `steps`: the channels of a ring are rotated, so
/// every rank meets the same mix of links in each step. Streamed patterns pay the latency once, then every link of the
/// pattern is busy at the same time.
struct CollectivePhase {
  MessagePattern pattern = MessagePattern::ring;
  PhaseScope scope = PhaseScope::whole;
  int steps = 1;
  Seconds latency;      ///< of all steps together
  Bytes native_bytes;   ///< this rank sends over its native port in all steps
  Bytes network_bytes;  ///< this rank sends over the NICs in all steps
  double native_cap = 1, network_cap = 1;
};

/// A collective as the engine executes it in full: `start`, then the phases one after another. On idle links they take
/// exactly as long as `cost.alone`.
struct CollectivePlan {
  CollectiveCost cost;
  Seconds start;  ///< launch, way into the network, filling of the pipeline
  boost::container::static_vector<CollectivePhase, 4> phases;
};

/// The plan behind collective_cost of the same arguments.
CollectivePlan collective_plan(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm,
                               CollectiveProtocol protocol);

}  // namespace stepcast
