#pragma once

#include <array>

#include "models/collectives/collective.hpp"

/// How each algorithm spends latency and bytes. Internal to models/collectives; formulas with their sources in
/// docs/models/collectives.md.
namespace stepcast::algorithms {

/// Peers, and the steps of LL, cost between few nodes what they cost between so many; many nodes tend to the network's
/// figure at scale.
inline constexpr double kFewNodes = 8;

/// Group and links of one call, worked out once.
struct Call {
  const GroupShape& group;
  const Interconnect& net;
  ElementWidth width;
  double n, p, k;               ///< ranks, ranks a node, nodes
  int nodes;                    ///< that the group touches
  double native_share;          ///< of the native links that p ranks can use
  double loss;                  ///< over many nodes wire ÷ this and hops × this
  BytesPerSecond network_rate;  ///< of one rank, rings
  BytesPerSecond tree_rate;     ///< of one rank, double trees
  BytesPerSecond pair_rate;     ///< of one rank, exchanges of all pairs
  BytesPerSecond next_rate;     ///< of the one rank of a node that sends to the next node
  Call(const GroupShape& group, const Interconnect& net, ElementWidth width);
  [[nodiscard]] bool crosses() const { return nodes > 1; }
  /// Of one rank, by the pattern of an algorithm.
  [[nodiscard]] BytesPerSecond rate(CollectiveAlgorithm algorithm) const;
  /// Share of that rate that a protocol reaches while all ranks of a node send.
  [[nodiscard]] double network_share(const SendProtocol& how, CollectiveAlgorithm algorithm) const;
  [[nodiscard]] Seconds start() const;  ///< launch and way into the network
};

/// A cost with its time on idle links, which choices compare, and the part of its latency that is not steps.
struct Timed {
  CollectiveCost cost;
  Seconds time;
  Seconds start;  ///< of cost.latency: launch, way into the network, filling of the pipeline
};
inline const Timed& faster(const Timed& a, const Timed& b) { return b.time < a.time ? b : a; }

/// Bytes and steps of an algorithm before placement and fill.
struct Shape {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  Seconds steps;                           ///< latency of all steps
  Bytes native_bytes, network_bytes;       ///< of one rank, as CollectiveCost's
  double native_cap = 1, network_cap = 1;  ///< shares of the links' rates that it reaches
  double fill = 0;                         ///< r of the fill term 2·√(r·l·T)
  Seconds fill_steps;  ///< l there: latency of the steps that stand idle one after another; zero: all of them
  Seconds fill_extra;  ///< fill that does not follow that form
  double filling = 1;  ///< T there over the time of all bytes
};
/// Time of a shape's bytes on the narrowest link.
Seconds flow(const Shape& shape, const Call& call);
/// Adds start, fill and the group's place to a shape.
Timed timed(const Shape& shape, const Call& call);

using Protocols = std::array<CollectiveProtocol, 3>;
inline constexpr Protocols kProtocols{CollectiveProtocol::ll, CollectiveProtocol::ll128, CollectiveProtocol::simple};
const SendProtocol& sending(CollectiveProtocol protocol, const Interconnect& net);

/// `passes` rounds of a ring that forward `volume` in all: all_reduce 2, all_gather and reduce_scatter 1.
Timed ring(Bytes volume, double passes, CollectiveProtocol protocol, const Call& call);
Timed tree_all_reduce(Bytes payload, CollectiveProtocol protocol, const Call& call);
/// NVLS, NVLS-tree over several nodes. `kind`: all_reduce, all_gather or reduce_scatter.
Timed switch_sum(CollectiveKind kind, Bytes payload, const Call& call);
/// CollNet (SHARP): the network adds.
Timed network_sum(CollectiveKind kind, Bytes payload, const Call& call);
/// PAT: all_gather and reduce_scatter in a logarithmic number of steps.
Timed pat(Bytes volume, const Call& call);
Timed halving_doubling(Bytes payload, const Call& call);
Timed recursive_doubling(Bytes payload, const Call& call);
/// Every rank to every other. `volume`: what a rank sends in all to others, `passes` times round.
Timed direct(Bytes volume, double passes, const Call& call);

Timed all_to_all(Bytes payload, double imbalance, const Call& call);
/// All_to_all over nodes whose parts are forwarded inside them (forwarded_cost).
Timed forwarded(Bytes to_nodes, Bytes to_ranks, const Call& call);
Timed send_recv(Bytes payload, const Call& call);
/// A chain from the root through all ranks; `root_returns`: the time is the root's, whose data only have to be on their
/// way (broadcast as nccl-tests time it).
Timed chain(Bytes payload, bool root_returns, CollectiveProtocol protocol, const Call& call);

/// The protocol of the library's own tables; `automatic` where they do not know the machine. `in_switch` is set when
/// they choose NVLS.
CollectiveProtocol tabled_protocol(CollectiveKind kind, Bytes payload, const Call& call, bool& in_switch);

/// One call of a collective, as a row of the table is asked for its cost.
struct Asked {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes payload;                                                   ///< as collective_cost takes it
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;  ///< the row itself
  CollectiveProtocol protocol = CollectiveProtocol::automatic;
  double imbalance = 1;  ///< all_to_all: what the busiest rank receives over the mean
  /// Rounds that the data make through all ranks.
  [[nodiscard]] double passes() const { return kind == CollectiveKind::all_reduce ? 2 : 1; }
  /// Bytes that every rank has to forward in them.
  [[nodiscard]] Bytes volume(const Call& call) const { return payload * (passes() * (call.n - 1) / call.n); }
};

/// By the protocol asked for, or the fastest that the links offer.
Timed by_ring(const Asked& asked, const Call& call);
Timed by_tree(const Asked& asked, const Call& call);
Timed by_chain(const Asked& asked, const Call& call);
/// Reduce-scatter in the node, all-reduce of each share across the nodes, all-gather in the node.
Timed by_hierarchy(const Asked& asked, const Call& call);
void add_hierarchical_phases(CollectivePlan& plan, const Asked& asked, const Call& call);
/// The one phase of a cost, over ranks of `scope`.
CollectivePhase phase_of(CollectiveKind kind, const Timed& timed, const Call& call, PhaseScope scope);
/// As the library chooses.
Timed by_library(const Asked& asked, const Call& call);

/// What a barrier sends: one element of an all_reduce, as PyTorch and nccl-tests do.
inline constexpr Bytes kBarrierPayload = 4_B;

/// The collective by the algorithm and protocol asked for, or by the library's own choice.
Timed choose(const Asked& asked, const Call& call);

}  // namespace stepcast::algorithms
