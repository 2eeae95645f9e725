#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/rank_graph/rank_index.hpp"
#include "sim/rank_graph/graph_cluster.hpp"
#include "sim/rank_graph/rank_network.hpp"
#include "sim/rank_graph/rank_step.hpp"

namespace stepcast {

/// What one operation of a class is to the engine.
struct CostedOperation {
  Operation operation;
  std::vector<Flow> flows;
  Seconds alone;  ///< on idle links
  Bytes size;
};

/// Costs the operations of the classes of a step graph.
class OperationCosts {
 public:
  OperationCosts(const RankIndex& index, const RankClasses& classes, const GraphCluster& cluster, RankNetwork& network,
                 std::string file);

  CostedOperation cost(int of, std::int32_t place);

 private:
  [[noreturn]] void refuse(const RankOperation& operation, std::string message, std::string suggestion = {}) const;
  CostedOperation work(int of, const RankOperation& operation);
  CostedOperation storage(int of, const RankOperation& operation);
  CostedOperation collective(int of, const RankOperation& operation);
  CostedOperation send(int of, const RankOperation& operation);
  Seconds duration(const RankOperation& operation) const;
  /// As the library chooses and as it was measured, or by the algorithm that the cluster's scenario forces.
  CollectiveCost priced(CollectiveKind kind, Bytes size, const GroupShape& group, CollectiveAlgorithm algorithm,
                        CollectiveProtocol protocol) const;
  const GroupShape& shape(int of, int group);
  void want_network(const RankOperation& operation) const;

  const RankIndex& index_;
  const RankClasses& classes_;
  const GraphCluster& cluster_;
  RankNetwork& network_;
  std::string file_;
  std::map<std::pair<int, int>, GroupShape> shapes_;
};

}  // namespace stepcast
