#include "report/helper_nodes.hpp"

#include <utility>

#include "models/power/power.hpp"

namespace stepcast {

namespace {

/// Processors of a server node add and send; accelerators beside them have nothing to do.
HelperNodes server_nodes(HelperKind kind) {
  HelperNodes out{kind.role, std::move(kind.scenario), {}, {}};
  const PowerModel power = power_model(out.scenario);
  out.device_peak = out.scenario.node->has_accelerators() ? power.device_idle : power.device_waiting;
  out.draw = power.cluster_at_meter(out.device_peak);
  return out;
}

/// Generating a token streams over weights, keys and values; processors that play environments compute, as accelerators
/// do that read prompts.
HelperNodes actor_nodes(HelperKind kind, const std::optional<UpdateOutcome>& updates) {
  HelperNodes out{kind.role, std::move(kind.scenario), {}, {}};
  const PowerModel power = power_model(out.scenario);
  const Watts busy = out.scenario.node->has_accelerators() ? power.device_memory : power.device_compute;
  const double idle = updates && updates->actors ? updates->actors->idle : 0;
  out.device_peak = power.device_compute;
  out.draw = power.cluster_at_meter(idle * power.device_idle + (1 - idle) * busy);
  return out;
}

}  // namespace

std::vector<HelperNodes> helper_nodes(const Scenario& scenario, const Catalog& catalog,
                                      const std::optional<UpdateOutcome>& updates) {
  std::vector<HelperNodes> out;
  for (HelperKind& kind : helper_kinds(scenario, catalog)) {
    const bool servers = kind.role == HelperRole::parameter_servers;
    out.push_back(servers ? server_nodes(std::move(kind)) : actor_nodes(std::move(kind), updates));
  }
  return out;
}

Watts draw_of(const std::vector<HelperNodes>& helpers) {
  Watts sum;
  for (const HelperNodes& helper : helpers) sum += helper.draw;
  return sum;
}

}  // namespace stepcast
