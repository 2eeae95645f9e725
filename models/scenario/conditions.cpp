#include "models/scenario/conditions.hpp"

#include <algorithm>
#include <map>

#include "models/fabric/most_nodes.hpp"
#include "models/fabric/preset_kinds.hpp"
#include "models/scenario/draft.hpp"
#include "models/scenario/helper_kinds.hpp"
#include "models/scenario/node_kinds.hpp"

namespace stepcast {

namespace {

/// Slower than a thousandth is a node that does not work at all.
const Rules kSpeed{.min = 0.001, .max = 1};

/// Every index lies in the cluster, and none is named twice.
void check_indices(Draft& draft, const std::vector<int>& nodes, const std::string& pointer) {
  const int count = draft.spec().cluster.nodes;
  if (nodes.empty()) draft.fault(pointer, "no node is named", fmt::format("nodes between 0 and {}", count - 1));
  std::vector<int> sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    draft.fault(pointer, fmt::format("node {} is named twice", *twice), "keep one of them");
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i] >= count)
      draft.fault(fmt::format("{}/{}", pointer, i),
                  fmt::format("found {}, but the cluster's {} nodes are counted from 0", nodes[i], count),
                  fmt::format("at most {}", count - 1));
}

/// Conditions of one node add up; `failed` counts its NICs so far.
void check_failed_nics(Draft& draft, const NodeConditionSpec& condition, const std::string& at,
                       std::map<int, int>& failed) {
  if (condition.failed_nics == 0 || !draft.sound({"/cluster/fabric"})) return;
  const int nics = draft.scenario.nics_per_node;
  for (const int node : condition.nodes) {
    if ((failed[node] += condition.failed_nics) < nics) continue;
    draft.fault(at + "/failed_nics", fmt::format("leaves node {} without one of its {} NICs for training", node, nics),
                nics > 1 ? fmt::format("at most {} in all", nics - 1) : "leave it out");
    return;
  }
}

/// Rails, tori and listed cables go by the NICs of a node: all nodes need as many.
bool goes_by_nics(FabricPreset preset) {
  return preset == FabricPreset::rail_optimized || preset == FabricPreset::rail_only || is_torus(preset) ||
         preset == FabricPreset::custom;
}

/// One fabric joins all kinds: that of the cluster's own.
void join_fabric(Draft& draft, Scenario& kind, const std::string& at) {
  const Scenario& own = draft.scenario;
  const ClusterSpec& cluster = draft.spec().cluster;
  if (cluster.nodes == 1) return;
  if (kind.network != own.network)
    return draft.fault(at + "/node",
                       fmt::format("node \"{}\" has NICs of {} and the cluster's \"{}\" of {}: no fabric joins them",
                                   kind.node->id, name_of(kind.network), own.node->id, name_of(own.network)),
                       "a node of the same network, or state cluster.fabric.network for all");
  if (kind.nics_per_node != own.nics_per_node && goes_by_nics(cluster.fabric.preset))
    return draft.fault(
        at + "/node",
        fmt::format("node \"{}\" has {} NICs and the cluster's \"{}\" has {}: preset \"{}\" goes by the NICs of a node",
                    kind.node->id, kind.nics_per_node, own.node->id, own.nics_per_node, name_of(cluster.fabric.preset)),
        "preset \"fat-tree\", or state cluster.fabric.nics_per_node for all");
  if (kind.nics_per_node != own.nics_per_node)
    draft.assume(fmt::format("the network is built and paid for {} NICs of every node: {} has {}", own.nics_per_node,
                             kind.node->id, kind.nics_per_node));
  kind.network_switch = own.network_switch;
  if (own.network_switch == nullptr || !own.network_switch->port_bandwidth) return;
  const BytesPerSecond port = *own.network_switch->port_bandwidth;
  if (kind.nic_bandwidth <= port * (1 + 1e-9)) return;
  draft.assume(fmt::format("NICs of {} at {:g} Gb/s instead of {:g}: the ports of {} carry no more", kind.node->id,
                           port.in(1_Gbps), kind.nic_bandwidth.in(1_Gbps), own.network_switch->id));
  kind.nic_bandwidth = port;
}

/// A scenario that differs in its kind of node alone. Its own faults are reported at the kind.
std::shared_ptr<const Scenario> resolve_kind(Draft& draft, const OtherNodesSpec& other, const std::string& at) {
  ScenarioSpec spec = draft.spec();
  if (other.node != spec.cluster.node) leave_to_catalogue(spec.cluster.cost);
  spec.cluster.node = other.node;
  spec.cluster.conditions.clear();
  spec.cluster.other_nodes.clear();
  // What the first kind decides holds for all: one strategy, one format.
  spec.workload.precision = draft.scenario.precision;
  if (draft.scenario.framework) spec.strategy.framework = draft.scenario.framework->id;
  Diagnostics own(draft.diagnostics.file());
  Draft kind(std::move(spec), draft.catalog, own);
  resolve_parts(kind);
  for (const Fault& fault : own.faults())
    draft.fault(at + "/node", fault.pointer == "/cluster/node" ? fault.message : fault.pointer + ": " + fault.message,
                fault.suggestion);
  if (!own.faults().empty()) return nullptr;
  join_fabric(draft, kind.scenario, at);
  return std::make_shared<const Scenario>(std::move(kind.scenario));
}

/// What else does not fit nodes of another size is said of ranks that it does not have.
bool same_shape(Draft& draft, const OtherNodesSpec& other, const std::string& at) {
  const Scenario& s = draft.scenario;
  const Node* node = draft.catalog.find<Node>(other.node);
  if (node == nullptr || node->devices() == s.devices_per_node()) return true;
  draft.fault(at + "/node",
              fmt::format("node \"{}\" has {} devices and the cluster's \"{}\" has {}: ranks lie over equal nodes",
                          node->id, node->devices(), s.node->id, s.devices_per_node()),
              fmt::format("a node of {} devices", s.devices_per_node()));
  return false;
}

}  // namespace

const FieldTable<NodeConditionSpec>& NodeConditionSpec::fields() {
  using C = NodeConditionSpec;
  static const auto kTable = [] {
    FieldTable<C> t("condition", "Nodes that do not work as their kind should");
    t.field("nodes", &C::nodes, "Which nodes, counted from 0", {.required = true, .min = 0, .max = kMostNodes})
        .field("compute_speed", &C::compute_speed, "Speed of computing, of the healthy node's", kSpeed)
        .field("network_speed", &C::network_speed, "Rate of the NICs, of the healthy node's", kSpeed)
        .field("native_speed", &C::native_speed, "Rate of the links inside the node, of the healthy node's", kSpeed)
        .field("failed_nics", &C::failed_nics, "NICs that carry nothing", {.min = 0, .max = 255});
    return t;
  }();
  return kTable;
}

const FieldTable<OtherNodesSpec>& OtherNodesSpec::fields() {
  using O = OtherNodesSpec;
  static const auto kTable = [] {
    FieldTable<O> t("other nodes", "Nodes of another kind, with as many devices");
    t.field("node", &O::node, "Catalogue id of the server", {.required = true, .refers_to = "nodes"})
        .field("nodes", &O::nodes, "Which nodes, counted from 0", {.required = true, .min = 0, .max = kMostNodes});
    return t;
  }();
  return kTable;
}

std::vector<NodeKind> node_kinds(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.spec.cluster;
  std::vector<NodeKind> out{{&scenario, cluster.nodes}};
  for (std::size_t i = 0; i < scenario.other_kinds.size(); ++i) {
    const auto nodes = static_cast<int>(cluster.other_nodes[i].nodes.size());
    out.front().nodes -= nodes;
    out.push_back({scenario.other_kinds[i].get(), nodes});
  }
  std::erase_if(out, [](const NodeKind& kind) { return kind.nodes == 0; });
  return out;
}

std::vector<const Scenario*> kinds_by_node(const Scenario& scenario) {
  std::vector<const Scenario*> out(static_cast<std::size_t>(scenario.spec.cluster.nodes), &scenario);
  for (std::size_t i = 0; i < scenario.other_kinds.size(); ++i)
    for (const int node : scenario.spec.cluster.other_nodes[i].nodes)
      out[static_cast<std::size_t>(node)] = scenario.other_kinds[i].get();
  return out;
}

void resolve_conditions(Draft& draft) {
  const ClusterSpec& cluster = draft.spec().cluster;
  if (!draft.cluster_known()) return;
  std::map<int, int> failed;
  for (std::size_t i = 0; i < cluster.conditions.size(); ++i) {
    const std::string at = fmt::format("/cluster/conditions/{}", i);
    if (!draft.sound({at + "/nodes"})) continue;
    check_indices(draft, cluster.conditions[i].nodes, at + "/nodes");
    if (draft.sound({at + "/failed_nics"})) check_failed_nics(draft, cluster.conditions[i], at, failed);
  }
  std::vector<int> taken;
  for (std::size_t i = 0; i < cluster.other_nodes.size(); ++i) {
    const std::string at = fmt::format("/cluster/other_nodes/{}", i);
    if (!draft.sound({at + "/nodes"})) continue;
    const OtherNodesSpec& other = cluster.other_nodes[i];
    check_indices(draft, other.nodes, at + "/nodes");
    for (const int node : other.nodes)
      if (std::find(taken.begin(), taken.end(), node) != taken.end())
        draft.fault(at + "/nodes", fmt::format("node {} is of two kinds", node), "name it once");
    taken.insert(taken.end(), other.nodes.begin(), other.nodes.end());
    // Whatever else is wrong with the scenario would be said again for every kind.
    if (!draft.diagnostics.faults().empty()) continue;
    if (!same_shape(draft, other, at)) continue;
    if (auto kind = resolve_kind(draft, other, at)) draft.scenario.other_kinds.push_back(std::move(kind));
  }
}

}  // namespace stepcast
