#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/fabric/levels.hpp"
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

/// Who sends to whom in a phase of a collective.
enum class MessagePattern : std::uint8_t {
  ring,              ///< step s: each rank sends to the next, after what it received in step s − 1
  next,              ///< once, each rank to the next of the group: of those on a node one sends over the network
  halving_doubling,  ///< step s: partner rank xor 2^s, half as many bytes each step, and back again
  doubling,          ///< step s: partner rank xor 2^s, all bytes each step
  tree,              ///< streamed up and down the double binary tree over nodes, a chain inside each
  chain,             ///< streamed from each rank to the next, the last one excepted
  in_switch,         ///< streamed from every rank to the switch and back, which adds or copies
  direct             ///< every rank to every other, some peers at a time
};

/// What the nodes of one member of a fabric level (of a leaf) send to nodes outside it while all groups of a dimension
/// communicate, counted in the whole network traffic of one node; collisions of hashed flows included.
struct LevelLoad {
  float ring = 0;     ///< of rings over nodes, which mostly pass from neighbour to neighbour
  float tree = 0;     ///< of double trees over nodes, of which a member of the level holds several edges' ends
  float direct = 0;   ///< of exchanges between all pairs
  int crossings = 0;  ///< times that a ring over one group's nodes leaves a member of the level
  [[nodiscard]] float of(MessagePattern pattern) const {
    return pattern == MessagePattern::direct ? direct : pattern == MessagePattern::tree ? tree : ring;
  }
  bool operator==(const LevelLoad&) const = default;
};

/// Where the members of a communication group sit: `size` ranks, `per_node` of them on each node that it touches.
/// Groups of different ranks of a node run side by side: `groups_per_node` is how many.
struct GroupShape {
  int size = 1;  ///< ranks
  int per_node = 1;
  int groups_per_node = 1;
  std::array<LevelLoad, kFabricLevels> above{};  ///< by level of Interconnect::uplinks
  [[nodiscard]] int nodes() const { return (size + per_node - 1) / per_node; }
  bool operator==(const GroupShape&) const = default;
};

/// How one step of a collective is paid for in one of a library's ways to send. NCCL's LL writes data and flag
/// together: quick to start, a fraction of the bandwidth. LL128 keeps most of the bandwidth where 128-byte stores
/// arrive whole. Its Simple protocol sends whole chunks at the links' rate. Source of the split:
/// docs/models/collectives.md.
struct SendProtocol {
  Seconds native_hop;       ///< one ring or chain step inside the node
  Seconds network_hop;      ///< one ring step between nodes
  Seconds tree_hop;         ///< one tree level between nodes, in one direction
  double native_share = 1;  ///< of `native` that it reaches
  double network_share = 1;
  bool offered = true;   ///< the links allow it
  double fill_ring = 0;  ///< r of the fill term 2·√(r·l·T) for rings and chains: how finely messages are cut; of LL
                         ///< inside a node: share of a step that a full block adds
  double fill_tree = 0;         ///< the same for trees
  bool crosses = true;          ///< the network allows it, too
  BytesPerSecond node_limit{};  ///< most that all ranks of a node together send by it to others (0: no limit)
};

/// Point-to-point messages of a library: how many channels they open, and what more than a few bytes cost to start.
struct PeerMessages {
  Seconds simple_start;               ///< once, inside the node, for messages too large for LL
  Seconds network_simple_start;       ///< the same across nodes
  BytesPerSecond small_rate;          ///< LL rate of one message (0: no LL)
  BytesPerSecond peer_rate;           ///< most from one device to one peer (0: no limit below the links')
  BytesPerSecond channel;             ///< of one channel of send_recv (0: no limit below the links')
  int channels = 32;                  ///< of a device, split over the ranks of its node
  Seconds growth;                     ///< a message that would take longer gets more channels
  double fill = 0, network_fill = 0;  ///< r of the fill term, inside the node and between nodes
  double small_factor = 1;            ///< remote peers cost so much more while a message is at most small_limit
  Bytes small_limit;                  ///< of one message to a remote peer
};

/// The root of a broadcast is done when its data are in the pipeline.
struct RootMessages {
  Seconds slot, slot_in_node;  ///< for each KiB that has to wait for the next rank
  double hop_share = 1;        ///< of a ring hop, as the root sees it
  Seconds chain_hop;           ///< of one node in the fill term of large messages
};

/// Sums and copies made by the switches inside a node (NVLink SHARP); rate 0: none.
struct SwitchSums {
  BytesPerSecond rate;       ///< bus bandwidth
  Seconds start;             ///< once for a collective
  double fill = 0;           ///< r of the fill term
  double narrow_factor = 1;  ///< time of the bytes of 8-bit types
};

/// What NCCL's own tables assume of a node's links, by which it chooses inside one node (docs/sources.md).
struct TunerTables {
  bool known = false;
  double bus = 0, ll = 0, ll128 = 0, nvls = 0;  ///< GB/s of bus bandwidth
};

/// Types of the elements that a collective adds, as far as their time differs.
enum class ElementWidth : std::uint8_t { usual, narrow, wide };  ///< 16 and 32 bits; 8 bits; 64 bits

/// What leads out of one member of a fabric level.
struct FabricUplink {
  BytesPerSecond up;  ///< of all its links together, per direction, achievable
  Seconds hop;        ///< one-way latency that it adds
};

/// Rates and latencies of the links that a rank's traffic meets, as the cost functions and the engine see them.
struct Interconnect {
  BytesPerSecond native;       ///< per device and direction inside the node (NVLink, xGMI, PCIe), achievable
  Seconds native_hop;          ///< one-way latency between two devices of a node
  bool private_native = true;  ///< switched or meshed: one device's native traffic meets no other's
  bool two_node_tree = false;  ///< two nodes whose devices share NICs run a tree
  /// Of `native`, for groups of whole nodes on a torus whose links carry what leaves the nodes, too: those of the
  /// device with fewest of them; 0: the nodes have links of their own.
  float torus_share = 0;
  BytesPerSecond host_link;     ///< PCIe per device and direction, achievable
  double wire_share = 1;        ///< of a NIC's or up-link's raw rate that the network's protocol leaves
  BytesPerSecond nic;           ///< one NIC, per direction, achievable
  BytesPerSecond node_network;  ///< all training NICs of a node
  int nics = 0;                 ///< of a node, for training
  Seconds network_hop;          ///< one message over the fabric, NIC to NIC, as a point-to-point send pays it
  Seconds launch;               ///< start of a collective kernel

  BytesPerSecond rank_network;  ///< what the NICs of one device carry: never less than one NIC, shared or not
  Seconds network_launch;       ///< once for a collective that leaves the node
  SendProtocol small_messages;  ///< LL
  SendProtocol middle_messages = not_offered();  ///< LL128
  SendProtocol bulk;                             ///< Simple
  double tree_native_share = 0.88;               ///< of a ring's rate inside the node (docs/sources.md)
  double own_share = 0;                          ///< all_gather, reduce_scatter: cost of a rank's own part
  double wide_factor = 1;                        ///< time of the bytes of 64-bit types
  double loss_per_doubling = 0;                  ///< of wire and hops, for every doubling of the nodes above eight
  Seconds network_hop_at_scale;                  ///< LL ring step that many nodes tend to; 0: as between few
  Seconds remote_peer_start_at_scale;            ///< the same of remote_peer_start
  SwitchSums switch_sums;
  bool network_sums = false;  ///< the network's switches add (SHARP)
  bool switch_trees = true;   ///< trees join the nodes' switches that add
  PeerMessages peers;
  RootMessages root;
  TunerTables tuner;
  Seconds peer_start;                  ///< all_to_all: for each peer inside the node
  Seconds remote_peer_start;           ///< all_to_all: for each peer on another node
  double all_to_all_share = 1;         ///< of `rank_network` that an all_to_all reaches
  double all_to_all_native_share = 1;  ///< of `native`
  double send_share = 1;               ///< of one NIC that a single point-to-point message reaches
  BytesPerSecond message_rate;         ///< most of one message between nodes (0: no limit below the NICs')
  /// Share of `native` that a group of so many ranks on a node can use: all of it behind a switch, its own links alone
  /// in a mesh. Larger groups use the last entry.
  std::array<double, 17> native_share_by_ranks = every_share_one();
  /// Of `native_share_by_ranks`.
  [[nodiscard]] double native_share(int ranks) const;
  /// The same by the links alone, however many channels the library opens for so few ranks.
  std::array<double, 17> link_share_by_ranks = every_share_one();
  /// Of `link_share_by_ranks`.
  [[nodiscard]] double link_share(int ranks) const;
  boost::container::static_vector<FabricUplink, kFabricLevels> uplinks;  ///< levels that can hold traffic up
  /// What one rank of a group gets of the network while all `groups_per_node` groups of its node communicate: its own
  /// NICs, or its part of the node's NICs and of every level's up-links, which the pattern loads.
  [[nodiscard]] BytesPerSecond network_rate(const GroupShape& group,
                                            MessagePattern pattern = MessagePattern::ring) const;
  /// Latency that the levels add to `passes` rounds of a ring over a group's nodes, to a tree's way up and down, and to
  /// messages between pairs.
  [[nodiscard]] Seconds ring_hops(const GroupShape& group, double passes) const;
  [[nodiscard]] Seconds tree_hops(const GroupShape& group) const;
  [[nodiscard]] Seconds direct_hops(const GroupShape& group) const;

 private:
  static constexpr SendProtocol not_offered() {
    SendProtocol none;
    none.offered = false;
    return none;
  }
  static constexpr std::array<double, 17> every_share_one() {
    std::array<double, 17> shares{};
    for (double& share : shares) share = 1;
    return shares;
  }
};

/// The interconnect of a scenario's nodes and fabric. What collectives reach of it stands in the catalogue's
/// link-profiles, network-profiles and library-profiles.
Interconnect interconnect_of(const Scenario& scenario);

/// Cost of one collective for one representative rank, in the α-β form that the closed form sums and the engine
/// executes: `latency` is paid first; then the bytes flow over each class of link side by side and the slowest decides.
struct CollectiveCost {
  Seconds latency;      ///< paid before any byte flows
  Bytes native_bytes;   ///< this rank sends over its native port
  Bytes network_bytes;  ///< this rank's share of what its node sends over the NICs
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  double native_cap = 1;   ///< share of the native rate that this algorithm reaches for this payload
  double network_cap = 1;  ///< the same of the network rates
  Bytes payload;           ///< that it is the cost of, of all calls together: what an exported trace says
  int calls = 1;           ///< one after another, of equal payload
  /// So many of it, one after another: on average where not every layer has one. `calls` stays as it is.
  void repeat(double times);
  /// Time on idle links: latency, then the slowest of the rank's native port, its own NICs, and the node's NICs and
  /// up-link, which all `groups_per_node` groups of the node use at once.
  [[nodiscard]] Seconds alone(const Interconnect& interconnect, const GroupShape& group) const;
};

/// The cost of `payload` bytes per rank (all_gather: gathered size; reduce_scatter: size before; all_to_all: what a
/// rank sends in all, its own part included; broadcast: the buffer; send_recv: the message to the next rank of the
/// group; barrier: ignored). `imbalance`: of an all_to_all of unequal parts (all_to_all_v), what the busiest rank
/// receives over the mean (1 to the ranks of the group). What is `automatic` the library chooses: by its own tables
/// inside a node that they know, else the fastest. Combinations that a machine cannot run are priced as if it could;
/// unavailable_reason (machine.hpp) says which. Allocates nothing. Sources: Thakur et al. 2005, Patarasuk & Yuan 2009;
/// NCCL's step counts (docs/models/collectives.md).
CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect,
                               CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic,
                               CollectiveProtocol protocol = CollectiveProtocol::automatic,
                               ElementWidth width = ElementWidth::usual, double imbalance = 1);

/// Parts that several ranks of a node want go to that node once, to the rank that has the sender's place there, which
/// forwards them over the native links; both at the same time. `to_nodes`: what a rank sends to nodes in all, its own
/// included; `to_ranks`: the same to ranks. In one node an all_to_all of `to_ranks`.
CollectiveCost forwarded_cost(Bytes to_nodes, Bytes to_ranks, const GroupShape& group,
                              const Interconnect& interconnect);

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
  Seconds latency;                         ///< of all steps together
  Bytes native_bytes;                      ///< this rank sends over its native port in all steps
  Bytes network_bytes;                     ///< this rank sends over the NICs in all steps
  double native_cap = 1, network_cap = 1;  ///< as CollectiveCost's
  double imbalance = 1;  ///< of the pattern `direct`: the bytes are the busiest rank's, the mean has so much less
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
                               const Interconnect& interconnect,
                               CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic,
                               CollectiveProtocol protocol = CollectiveProtocol::automatic,
                               ElementWidth width = ElementWidth::usual, double imbalance = 1);

}  // namespace stepcast
