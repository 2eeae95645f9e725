#pragma once

#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A kind of a cluster's nodes: the scenario as it is on it, and how many nodes are of it.
struct NodeKind {
  const Scenario* scenario;
  int nodes = 0;
};

/// Kinds that the cluster has nodes of: its own, then those of `cluster.other_nodes`.
std::vector<NodeKind> node_kinds(const Scenario& scenario);

/// The scenario on the kind of each node.
std::vector<const Scenario*> kinds_by_node(const Scenario& scenario);

}  // namespace stepcast
