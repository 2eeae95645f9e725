#include "models/updates/lone_node.hpp"

#include <algorithm>

namespace stepcast {

bool exchanges_apart(const Scenario& scenario) {
  return scenario.update != UpdateMode::synchronous || scenario.servers.has_value();
}

Scenario lone_node(const Scenario& scenario) {
  Scenario lone = scenario;
  const int nodes = scenario.spec.cluster.nodes;
  lone.spec.cluster.nodes = 1;
  const FabricSpec& fabric = scenario.spec.cluster.fabric;
  lone.spec.cluster.fabric = FabricSpec{};
  lone.spec.cluster.fabric.nics_per_node = fabric.nics_per_node;
  lone.spec.cluster.fabric.nic_bandwidth = fabric.nic_bandwidth;
  lone.spec.cluster.fabric.network = fabric.network;
  lone.spec.workload.global_batch = std::max(1L, scenario.spec.workload.global_batch / nodes);
  lone.degrees.dp = std::max(1, scenario.degrees.dp / nodes);
  if (lone.model->recommender) lone.degrees.ep = lone.degrees.dp;
  lone.spec.strategy.data_parallel.reset();
  lone.spec.strategy.compression = {};
  lone.shard_size = std::min(scenario.shard_size, lone.degrees.dp * lone.degrees.cp);
  lone.update = UpdateMode::synchronous;
  lone.servers.reset();
  return lone;
}

}  // namespace stepcast
