#include "models/parallelism/fold.hpp"

#include <algorithm>
#include <map>

namespace stepcast {

namespace {

/// The state of ranks that wait for each other: the worst of each figure. Of two kinds the one with the lower peak.
NodeState slower(const Scenario& scenario, const NodeState& a, const NodeState& b) {
  const auto peak = [&](const NodeState& state) {
    const Scenario& kind = state.kind == 0 ? scenario : *scenario.other_kinds[static_cast<std::size_t>(state.kind) - 1];
    return kind.accelerator ? kind.accelerator->peak(kind.precision) : FlopsPerSecond(0);
  };
  NodeState out;
  out.kind = peak(b) < peak(a) ? b.kind : a.kind;
  out.compute = std::min(a.compute, b.compute);
  out.network = std::min(a.network, b.network);
  out.native = std::min(a.native, b.native);
  out.failed_nics = std::max(a.failed_nics, b.failed_nics);
  return out;
}

/// Replicas whose expert groups overlap have the same number.
int coupled_replicas(const RankLayout& layout, int replica) {
  const int inside = layout.degree(Axis::context) * (layout.experts_over_tensor ? layout.degree(Axis::tensor) : 1);
  if (layout.experts <= inside) return replica;
  const int together = layout.experts / inside;
  if (layout.expert_before_data) return replica / together;
  return replica % (layout.degree(Axis::data) / together);
}

using StageStates = std::map<int, NodeState>;  ///< by stage; stages that are missing are healthy

std::map<int, StageStates> states_of_units(const Scenario& scenario, const RankLayout& layout) {
  std::map<int, StageStates> units;
  for (const auto& [node, state] : unusual_nodes(scenario))
    for (int rank = node * layout.devices_per_node; rank < (node + 1) * layout.devices_per_node; ++rank) {
      const int unit = coupled_replicas(layout, layout.coordinate(rank, Axis::data));
      const int stage = layout.coordinate(rank, Axis::pipeline);
      const auto [entry, fresh] = units[unit].try_emplace(stage, state);
      if (!fresh) entry->second = slower(scenario, entry->second, state);
    }
  return units;
}

int index_of(std::vector<NodeState>& states, const NodeState& state) {
  const auto found = std::find(states.begin(), states.end(), state);
  if (found != states.end()) return static_cast<int>(found - states.begin());
  states.push_back(state);
  return static_cast<int>(states.size()) - 1;
}

}  // namespace

std::vector<std::pair<int, NodeState>> unusual_nodes(const Scenario& scenario) {
  std::map<int, NodeState> states;
  const ClusterSpec& cluster = scenario.spec.cluster;
  for (std::size_t i = 0; i < cluster.other_nodes.size(); ++i)
    for (const int node : cluster.other_nodes[i].nodes) states[node].kind = static_cast<int>(i) + 1;
  for (const NodeConditionSpec& condition : cluster.conditions)
    for (const int node : condition.nodes) {
      // Several conditions of one node add up.
      NodeState& state = states[node];
      state.compute *= condition.compute_speed;
      state.network *= condition.network_speed;
      state.native *= condition.native_speed;
      state.failed_nics += condition.failed_nics;
    }
  std::erase_if(states, [](const auto& entry) { return entry.second == NodeState{}; });
  return {states.begin(), states.end()};
}

Fold fold_of(const Scenario& scenario, const RankLayout& layout) {
  Fold fold;
  const auto stages = static_cast<std::size_t>(layout.degree(Axis::pipeline));
  const int replicas = layout.degree(Axis::data);
  const std::map<int, StageStates> units = states_of_units(scenario, layout);
  if (units.empty()) {
    fold.classes.push_back({std::vector<int>(stages, 0), 0, replicas});
    return fold;
  }
  std::vector<std::vector<int>> states(static_cast<std::size_t>(replicas), std::vector<int>(stages, 0));
  std::map<std::vector<int>, ReplicaClass> classes;
  for (int replica = 0; replica < replicas; ++replica) {
    std::vector<int>& state = states[static_cast<std::size_t>(replica)];
    if (const auto unit = units.find(coupled_replicas(layout, replica)); unit != units.end())
      for (const auto& [stage, of_stage] : unit->second)
        state[static_cast<std::size_t>(stage)] = index_of(fold.states, of_stage);
    ++classes.try_emplace(state, ReplicaClass{state, replica, 0}).first->second.replicas;
  }
  for (const auto& [state, of_state] : classes) fold.classes.push_back(of_state);
  std::stable_sort(fold.classes.begin(), fold.classes.end(),
                   [](const ReplicaClass& a, const ReplicaClass& b) { return a.replicas > b.replicas; });
  for (const std::vector<int>& state : states) {
    const auto same =
        std::find_if(fold.classes.begin(), fold.classes.end(), [&](const ReplicaClass& c) { return c.state == state; });
    fold.class_by_replica.push_back(static_cast<int>(same - fold.classes.begin()));
  }
  return fold;
}

}  // namespace stepcast
