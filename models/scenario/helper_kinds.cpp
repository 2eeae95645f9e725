#include "models/scenario/helper_kinds.hpp"

namespace stepcast {

namespace {

void set_node(Scenario& servers, const Node& node, const Catalog& catalog) {
  servers.node = &node;
  servers.accelerator = node.has_accelerators() ? catalog.find<Accelerator>(node.accelerator) : nullptr;
  servers.cpu = node.cpu.empty() ? nullptr : catalog.find<Cpu>(node.cpu);
  servers.psu = nullptr;
  const bool named = node.local_storage && !node.local_storage->device.empty();
  servers.local_drive = named ? catalog.find<StoragePart>(node.local_storage->device) : nullptr;
}

/// Without NICs of its own a server's node has the workers'.
void set_network(Scenario& servers) {
  const int nics = servers.node->training_nics();
  if (nics == 0) return;
  servers.nics_per_node = nics;
  servers.nic_bandwidth = servers.node->training_bandwidth() / nics;
}

Scenario server_scenario(const Scenario& scenario, const Catalog& catalog) {
  Scenario servers = scenario;
  ClusterSpec& cluster = servers.spec.cluster;
  cluster.nodes = scenario.servers->count;
  cluster.conditions.clear();
  cluster.other_nodes.clear();
  servers.other_kinds.clear();
  servers.phases.clear();
  servers.spec.run.phases.clear();
  if (scenario.server_node == nullptr) return servers;
  set_node(servers, *scenario.server_node, catalog);
  set_network(servers);
  if (servers.node->id != cluster.node) leave_to_catalogue(cluster.cost);
  cluster.node = servers.node->id;
  return servers;
}

}  // namespace

std::vector<HelperKind> helper_kinds(const Scenario& scenario, const Catalog& catalog) {
  std::vector<HelperKind> out;
  if (scenario.servers && scenario.servers->placement != ServerHost::on_workers)
    out.push_back({HelperRole::parameter_servers, server_scenario(scenario, catalog)});
  if (scenario.actors) out.push_back({HelperRole::actors, *scenario.actors});
  return out;
}

void leave_to_catalogue(CostSpec& cost) {
  cost.node_rent.reset();
  cost.node_purchase.reset();
}

}  // namespace stepcast
