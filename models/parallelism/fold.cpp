#include "models/parallelism/fold.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "models/compute/device.hpp"

namespace stepcast {

namespace {

/// Whether a node has no more of anything than another of its kind.
bool falls_short(const NodeState& a, const NodeState& b) {
  return a.kind == b.kind && a.compute <= b.compute && a.network <= b.network && a.native <= b.native &&
         a.failed_nics >= b.failed_nics;
}

/// A state that none of those before falls short of joins them, in place of those that it does.
void meet(MeetingNodes& nodes, const NodeState& state) {
  const auto is_worse = [&](const NodeState& other) { return falls_short(other, state); };
  if (std::any_of(nodes.begin(), nodes.end(), is_worse)) return;
  std::erase_if(nodes, [&](const NodeState& other) { return falls_short(state, other); });
  nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), state), state);
}

/// Replicas whose expert groups overlap have the same number.
int coupled_replicas(const RankLayout& layout, int replica) {
  const int inside = layout.degree(Axis::context) * (layout.experts_over_tensor ? layout.degree(Axis::tensor) : 1);
  if (layout.experts <= inside) return replica;
  const int together = layout.experts / inside;
  if (layout.expert_before_data) return replica / together;
  return replica % (layout.degree(Axis::data) / together);
}

/// Replicas that share one copy of sharded parameters have the same number.
int sharing_replicas(const RankLayout& layout, int replica) {
  const int context = layout.degree(Axis::context);
  return layout.shard <= context ? replica : replica * context / layout.shard;
}

/// By replica, which sets of states those have that share its copy of the parameters: equal numbers, equal sets.
std::vector<int> sharing_of(const std::vector<std::vector<int>>& states, const RankLayout& layout) {
  std::map<int, std::set<std::vector<int>>> of_copy;
  for (std::size_t replica = 0; replica < states.size(); ++replica)
    of_copy[sharing_replicas(layout, static_cast<int>(replica))].insert(states[replica]);
  std::map<std::set<std::vector<int>>, int> numbers;
  std::vector<int> out;
  for (std::size_t replica = 0; replica < states.size(); ++replica)
    out.push_back(
        numbers
            .try_emplace(of_copy[sharing_replicas(layout, static_cast<int>(replica))], static_cast<int>(numbers.size()))
            .first->second);
  return out;
}

/// The state of every node that is not a healthy one of the cluster's own kind.
std::map<int, NodeState> unusual_nodes(const Scenario& scenario) {
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
  return states;
}

using StageNodes = std::vector<MeetingNodes>;  ///< by stage

/// By number of coupled replicas.
std::map<int, StageNodes> nodes_of_units(const std::map<int, NodeState>& unusual, const RankLayout& layout) {
  std::map<int, StageNodes> units;
  for (int rank = 0; rank < layout.devices(); ++rank) {
    const auto found = unusual.find(layout.node_of(rank));
    StageNodes& unit = units[coupled_replicas(layout, layout.coordinate(rank, Axis::data))];
    unit.resize(static_cast<std::size_t>(layout.degree(Axis::pipeline)));
    meet(unit[static_cast<std::size_t>(layout.coordinate(rank, Axis::pipeline))],
         found != unusual.end() ? found->second : NodeState{});
  }
  return units;
}

/// What stands for a state and all that it is joined with.
int root_of(const std::vector<int>& joined_to, int state) {
  while (joined_to[static_cast<std::size_t>(state)] != state) state = joined_to[static_cast<std::size_t>(state)];
  return state;
}

/// By state, another one that it is joined with; roots themselves.
std::vector<int> joined_states(const Fold& fold, bool ends_meet) {
  std::vector<int> out(fold.states.size());
  std::iota(out.begin(), out.end(), 0);
  const auto join = [&](int a, int b) { out[static_cast<std::size_t>(root_of(out, a))] = root_of(out, b); };
  const ReplicaClass& first = fold.classes.front();
  for (const ReplicaClass& replicas : fold.classes)
    for (std::size_t stage = 0; stage < replicas.state.size(); ++stage) join(replicas.state[stage], first.state[stage]);
  if (ends_meet) join(first.state.front(), first.state.back());
  return out;
}

int index_of(std::vector<MeetingNodes>& states, const MeetingNodes& nodes) {
  const auto found = std::find(states.begin(), states.end(), nodes);
  if (found != states.end()) return static_cast<int>(found - states.begin());
  states.push_back(nodes);
  return static_cast<int>(states.size()) - 1;
}

}  // namespace

Fold fold_of(const Scenario& scenario, const RankLayout& layout) {
  Fold fold;
  const auto stages = static_cast<std::size_t>(layout.degree(Axis::pipeline));
  const int replicas = layout.degree(Axis::data);
  const std::map<int, NodeState> unusual = unusual_nodes(scenario);
  if (unusual.empty()) {
    fold.classes.push_back({std::vector<int>(stages, 0), 0, 0, replicas});
    return fold;
  }
  const std::map<int, StageNodes> units = nodes_of_units(unusual, layout);
  std::vector<std::vector<int>> states;
  for (int replica = 0; replica < replicas; ++replica) {
    std::vector<int>& state = states.emplace_back();
    for (const MeetingNodes& nodes : units.at(coupled_replicas(layout, replica)))
      state.push_back(index_of(fold.states, nodes));
  }
  const std::vector<int> sharing = sharing_of(states, layout);
  std::map<std::pair<std::vector<int>, int>, ReplicaClass> classes;
  for (int replica = 0; replica < replicas; ++replica) {
    const auto i = static_cast<std::size_t>(replica);
    ++classes.try_emplace({states[i], sharing[i]}, ReplicaClass{states[i], sharing[i], replica, 0})
          .first->second.replicas;
  }
  for (const auto& [key, of_key] : classes) fold.classes.push_back(of_key);
  std::stable_sort(fold.classes.begin(), fold.classes.end(),
                   [](const ReplicaClass& a, const ReplicaClass& b) { return a.replicas > b.replicas; });
  for (int replica = 0; replica < replicas; ++replica) {
    const auto i = static_cast<std::size_t>(replica);
    const auto same = std::find_if(fold.classes.begin(), fold.classes.end(), [&](const ReplicaClass& c) {
      return c.state == states[i] && c.sharing == sharing[i];
    });
    fold.class_by_replica.push_back(static_cast<int>(same - fold.classes.begin()));
  }
  return fold;
}

std::vector<MeetingNodes> joined_by_replicas(const Fold& fold, bool ends_meet) {
  const std::vector<int> joined_to = joined_states(fold, ends_meet);
  std::map<int, std::set<NodeState>> by_root;
  const auto nodes_of = [&](std::size_t state) -> std::set<NodeState>& {
    return by_root[root_of(joined_to, static_cast<int>(state))];
  };
  for (std::size_t i = 0; i < fold.states.size(); ++i) nodes_of(i).insert(fold.states[i].begin(), fold.states[i].end());
  std::vector<MeetingNodes> out;
  for (std::size_t i = 0; i < fold.states.size(); ++i) out.emplace_back(nodes_of(i).begin(), nodes_of(i).end());
  return out;
}

const Scenario& on_kind(const Scenario& scenario, int kind) {
  return kind == 0 ? scenario : *scenario.other_kinds[static_cast<std::size_t>(kind) - 1];
}

const NodeState& slowest_of(const Scenario& scenario, const MeetingNodes& nodes) {
  if (nodes.size() == 1) return nodes.front();
  const auto rate = [&](const NodeState& state) {
    return device_of(on_kind(scenario, state.kind)).peak * state.compute;
  };
  return *std::min_element(nodes.begin(), nodes.end(),
                           [&](const NodeState& a, const NodeState& b) { return rate(a) < rate(b); });
}

}  // namespace stepcast
