#pragma once

#include <memory>
#include <vector>

#include "models/rank_graph/rank_index.hpp"
#include "sim/rank_graph/graph_cluster.hpp"
#include "sim/rank_graph/rank_classes.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// A step graph of ranks, laid on a cluster: what the engine runs, and what each of its operations stands for. Device c
/// of the graph is the representative of class c. Points into the graph of ranks and the index, which must outlive it.
struct RankStep {
  /// One operation for each of every class's program, in the program's order, class after class.
  struct Part {
    int of = 0;              ///< class
    std::int32_t place = 0;  ///< in the class's program
    Seconds alone;           ///< on idle links
    Bytes size;              ///< of a collective, as collective_cost counts it, or of a message
  };
  StepGraph graph;
  std::vector<Part> parts;  ///< by operation of `graph`; those that only join others come after them
  std::vector<int> first;   ///< by class: its first operation
};

/// Lays a graph on a cluster.
///
/// An operation begins when all that it waits for has ended and its stream is free. Operations that become ready for
/// the same stream take it in the order in which they would on idle links. A collective begins when all members have
/// arrived and ends for all at once. A message leaves when its sender is ready, whether or not the receiver is waiting;
/// the receive ends when it has arrived.
///
/// Throws InputError, with `file`, when the graph has more ranks than the cluster devices, states work that no device
/// model of the cluster can time, reads from drives of unknown rate, or needs a network that the nodes do not have.
RankStep build_rank_step(const RankIndex& index, const RankClasses& classes, const GraphCluster& cluster,
                         const std::string& file);

}  // namespace stepcast
