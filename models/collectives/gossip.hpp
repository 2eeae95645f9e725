#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/collectives/peer_ports.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Who sends its parameters to whom in a round of decentralised averaging: directed, no rank to itself, no pair twice.
struct GossipGraph {
  int ranks = 0;
  std::vector<std::pair<int, int>> edges;  ///< from, to

  /// Peers that the rank with most of them sends to, and takes from.
  [[nodiscard]] int out_degree() const;
  [[nodiscard]] int in_degree() const;
  /// Whether news of any rank reaches all others in time.
  [[nodiscard]] bool strongly_connected() const;
};

/// Each rank with its two neighbours (one when there are only two ranks).
GossipGraph ring_graph(int ranks);
/// A torus of two dimensions as square as the number of ranks allows; a prime number of them is a ring.
GossipGraph torus_graph(int ranks);
/// Rank i sends to i + 1, i + 2, i + 4 …: all peers of the exponential graph.
GossipGraph exponential_graph(int ranks);
/// The same as it is used: one peer a round, the next power of two in turn (Assran et al. 2019, "Stochastic Gradient
/// Push"; peers_per_itr 1 in facebookresearch/stochastic_gradient_push, gossip_module/graph_manager.py).
std::vector<GossipGraph> exponential_rounds(int ranks);
/// Every rank with `degree` others, both ways: one of the simple regular graphs, by seed. Throws InputError when there
/// is none (odd ranks × degree, or degree ≥ ranks).
GossipGraph random_regular_graph(int ranks, int degree, std::uint64_t seed);
/// The edges given. Throws InputError, naming `file`, on ranks out of range, loops and pairs told twice.
GossipGraph explicit_graph(int ranks, std::vector<std::pair<int, int>> edges, const std::string& file);

/// One round: every rank sends `size` bytes along each of its edges.
struct GossipRound {
  Seconds time;
  Bytes busiest_node;  ///< through the NICs of the busiest node, in its busier direction
  Bytes busiest_rank;  ///< sent or taken by the busiest rank
};

/// All flows start together and share ports max-min, so the busiest port decides: the NICs of a node, the part of them
/// that one rank can use, or a rank's native port. Ranks fill nodes of `ranks_per_node`.
GossipRound gossip_round(const GossipGraph& graph, Bytes size, int ranks_per_node, const PeerPorts& ports);
/// The mean of rounds that follow each other.
GossipRound mean_gossip_round(const std::vector<GossipGraph>& rounds, Bytes size, int ranks_per_node,
                              const PeerPorts& ports);

}  // namespace stepcast
