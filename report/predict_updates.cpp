#include "report/predict_updates.hpp"

#include "models/cost/cost.hpp"
#include "models/power/power.hpp"
#include "models/updates/lone_node.hpp"
#include "models/updates/update_step.hpp"
#include "report/json.hpp"

namespace stepcast {

namespace {

/// No measured run stands behind the updates' simulation. Published rates of such systems differ from what their
/// mechanisms allow by tens of per cent: half as much again is taken, an estimate.
constexpr double kUnmeasured = 1.5;

void widen(ExpectedError& error, const Scenario& scenario) {
  error.grade = EvidenceGrade::none;
  error.share_80 *= kUnmeasured;
  error.why = fmt::format("no measured run of update {}{}; a worker by itself: {}", name_of(scenario.update),
                          scenario.servers ? " through parameter servers" : "", error.why);
}

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

/// Power and price of nodes that hold servers and nothing else.
void add_server_nodes(Prediction& out, const Scenario& scenario, const Catalog& catalog) {
  if (!scenario.servers || scenario.servers->placement == ServerHost::on_workers) return;
  const Scenario servers = server_scenario(scenario, catalog);
  const PowerModel power = power_model(servers);
  // Processors of a server node add and send; accelerators beside them have nothing to do.
  const bool idle = servers.node->has_accelerators();
  const Watts draw = power.cluster_at_meter(idle ? power.device_idle : power.device_communication);
  out.average_power += draw;
  out.peak_power += draw;
  out.energy_per_step += draw * out.step_time;
  out.energy_per_sample += draw * out.step_time / static_cast<double>(scenario.spec.workload.global_batch);
  out.assumptions.push_back(fmt::format(
      "{} of {} for parameter servers beside the workers' {}",
      servers.spec.cluster.nodes == 1 ? std::string("one node") : fmt::format("{} nodes", servers.spec.cluster.nodes),
      servers.node->id, scenario.spec.cluster.nodes));
  if (!out.cost_rate) return;
  const std::optional<CostRate> rate = cost_rate(servers, catalog, draw);
  if (!rate) {
    out.cost_basis += fmt::format("; without its parameter servers, as {} has no price", servers.node->id);
    return;
  }
  *out.cost_rate += rate->total();
  if (out.time_to_train) out.run_cost = *out.cost_rate * *out.time_to_train;
  out.cost_basis += fmt::format("; parameter servers {}", rate->basis);
}

}  // namespace

Prediction predict_updates(const Scenario& scenario, const Catalog& catalog, Fidelity fidelity,
                           const StepOfJob& step_of_job, MemoryAdvice advice) {
  const Job job = lower(scenario);
  const Scenario lone_scenario = lone_node(scenario);
  const Job lone = lower(lone_scenario);
  const UpdateStep step = update_step(job, lone, step_of_job(lone));
  Prediction out = predict(job, step.breakdown, fidelity, catalog, advice);
  out.updates = step.outcome;
  widen(out.expected_error, scenario);
  add_server_nodes(out, scenario, catalog);
  check_figures(out);
  return out;
}

}  // namespace stepcast
