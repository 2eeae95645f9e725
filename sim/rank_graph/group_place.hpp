#pragma once

#include <array>
#include <span>

#include "models/rank_graph/rank_index.hpp"
#include "sim/rank_graph/graph_cluster.hpp"
#include "sim/rank_graph/rank_classes.hpp"

namespace stepcast {

/// Where a group of ranks lies on a cluster, for the cost of its collectives. Unevenly spread ones are taken for even:
/// on each node as many as on the fullest.
///
/// `above` counts what the member of each level that holds the group's first node sends out of it while all lists of
/// the group communicate, in the network traffic of one node: rings pass the boundary once for each step from a node
/// inside to one outside, trees as often as the edges of the busiest member do, exchanges of all pairs with the share
/// of their partners that lie outside.
GroupShape place_group(const RankIndex& index, const GraphCluster& cluster, int group, int list);

/// Whether two ranks are on one node.
inline bool share_node(const GraphCluster& cluster, int a, int b) { return cluster.node_of(a) == cluster.node_of(b); }

}  // namespace stepcast
