#include "report/helper_nodes.hpp"

#include "models/cost/cost.hpp"
#include "models/power/power.hpp"

namespace stepcast {

namespace {

/// The scenario of the server nodes alone: their kind, or the workers' with idle accelerators.
Scenario server_scenario(const Scenario& scenario, const Catalog& catalog) {
  Scenario servers = scenario;
  servers.spec.cluster.nodes = scenario.servers->placement == ServerHost::own_nodes ? scenario.servers->count : 1;
  if (scenario.server_node == nullptr) return servers;
  servers.node = scenario.server_node;
  servers.accelerator =
      servers.node->has_accelerators() ? catalog.find<Accelerator>(servers.node->accelerator) : nullptr;
  servers.cpu = servers.node->cpu.empty() ? nullptr : catalog.find<Cpu>(servers.node->cpu);
  servers.psu = nullptr;
  return servers;
}

HelperNodes server_nodes(const Scenario& scenario, const Catalog& catalog) {
  HelperNodes out{server_scenario(scenario, catalog), "parameter servers", Watts(0)};
  const PowerModel power = power_model(out.scenario);
  // Processors of a server node add and send; accelerators beside them have nothing to do.
  const bool idle = out.scenario.node->has_accelerators();
  out.draw = power.cluster_at_meter(idle ? power.device_idle : power.device_waiting);
  return out;
}

/// Generating a token streams over weights, keys and values; processors that play environments compute.
HelperNodes actor_nodes(const Scenario& scenario, const UpdateOutcome& updates) {
  HelperNodes out{*scenario.actors, "actors", Watts(0)};
  const PowerModel power = power_model(out.scenario);
  const Watts busy = out.scenario.node->has_accelerators() ? power.device_memory : power.device_compute;
  const double idle = updates.actors ? updates.actors->idle : 0;
  out.draw = power.cluster_at_meter(idle * power.device_idle + (1 - idle) * busy);
  return out;
}

}  // namespace

std::vector<HelperNodes> helper_nodes(const Scenario& scenario, const Catalog& catalog,
                                      const std::optional<UpdateOutcome>& updates) {
  std::vector<HelperNodes> out;
  if (scenario.servers && scenario.servers->placement != ServerHost::on_workers)
    out.push_back(server_nodes(scenario, catalog));
  if (scenario.actors && updates) out.push_back(actor_nodes(scenario, *updates));
  return out;
}

DollarsPerSecond cost_of(const std::vector<HelperNodes>& helpers, const Catalog& catalog) {
  DollarsPerSecond sum;
  for (const HelperNodes& helper : helpers)
    if (const std::optional<CostRate> rate = cost_rate(helper.scenario, catalog, helper.draw)) sum += rate->total();
  return sum;
}

Watts draw_of(const std::vector<HelperNodes>& helpers) {
  Watts sum;
  for (const HelperNodes& helper : helpers) sum += helper.draw;
  return sum;
}

}  // namespace stepcast
