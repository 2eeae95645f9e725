#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sim/rank_graph/graph_cluster.hpp"
#include "sim/rank_graph/rank_classes.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// The links that the classes of a step graph share, and the flows of what they send. One flow stands for those of all
/// ranks of a class on a node, as in the networks of training steps (docs/models/simulation.md).
class RankNetwork {
 public:
  RankNetwork(const GraphCluster& cluster, const RankClasses& classes, StepGraph& graph);

  /// Flows of the part that each rank of a class has in a collective.
  std::vector<Flow> collective(int of, const CollectiveCost& cost, const GroupShape& group);
  /// Flows of a message from a rank of one class to one of another.
  std::vector<Flow> message(int from, int to, const CollectiveCost& cost);
  /// Reading from the drives of a node.
  std::vector<Flow> storage(int of, Bytes bytes);

 private:
  struct Port {
    LinkId native_out, native_in, nic_out, nic_in;
  };
  struct NodeLinks {
    LinkId nic_out, nic_in, drives;
  };
  struct UpDown {
    LinkId up, down;
  };
  LinkId link(std::string name, BytesPerSecond bandwidth, int device);
  PathId path(std::vector<LinkId> links, double weight, BytesPerSecond cap);
  const NodeLinks& node_of(int of);
  UpDown level_links(std::size_t level, int member);

  const GraphCluster& cluster_;
  const RankClasses& classes_;
  StepGraph& graph_;
  std::vector<Port> ports_;
  std::map<int, NodeLinks> nodes_;
  std::map<std::pair<std::size_t, int>, UpDown> levels_;
  std::map<std::tuple<std::vector<LinkId>, double, double>, PathId> paths_;
};

}  // namespace stepcast
