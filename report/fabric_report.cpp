#include "report/fabric_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/fabric/network_switch.hpp"
#include "models/fabric/plan/custom.hpp"
#include "models/fabric/plan/torus.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

struct Cluster {
  const Node* node = nullptr;
  int nodes = 0;
  FabricSpec fabric;
};

/// The cluster that the command line describes: a scenario's cluster without the rest.
Cluster read_cluster(const FabricQuestion& question, const Catalog& catalog, Diagnostics& diagnostics) {
  Json document{{"cluster", {{"node", question.node}, {"nodes", question.nodes}}}};
  for (const std::string& assignment : question.overrides) apply_override(document, assignment, diagnostics);
  for (const auto& [key, value] : document.items())
    if (key != "cluster")
      diagnostics.error("/" + key, "is a key of scenarios, and there is none", "name a scenario file");
  ClusterSpec spec;
  ClusterSpec::fields().read(spec, document["cluster"], "/cluster", diagnostics);
  diagnostics.throw_if_faulty();
  const Node* node = catalog.find<Node>(spec.node, "/cluster/node", diagnostics);
  const bool stated = document.contains(Json::json_pointer("/cluster/fabric/preset"));
  if (node != nullptr && !stated) spec.fabric.preset = usual_preset(*node, spec.fabric.network);
  if (node != nullptr && node->has_accelerators())
    take_wraps(spec.fabric, catalog.find<Accelerator>(node->accelerator, "/accelerator", diagnostics));
  return {node, spec.nodes, std::move(spec.fabric)};
}

void set_nics(FabricReport& report, const FabricSpec& fabric) {
  const Node& node = *report.node;
  const int own = node.training_nics();
  const auto nic = std::find_if(node.nics.begin(), node.nics.end(), [](const Nic& n) { return n.training; });
  report.nics = fabric.nics_per_node.value_or(own);
  report.nic_bandwidth = fabric.nic_bandwidth.value_or(own > 0 ? node.training_bandwidth() / own : BytesPerSecond(0));
  report.network = fabric.network.value_or(nic != node.nics.end() ? nic->kind : NetworkKind::ethernet_tcp);
}

void look_over(FabricReport& report, const Catalog& catalog) {
  report.inventory = inventory(report.fabric, catalog);
  report.bisection = bisection_bandwidth(report.fabric);
  report.diameter = diameter(report.fabric);
  report.findings = find_in_fabric(report.fabric, report.inventory, report.network, report.nics, report.nic_bandwidth);
}

/// Parts, bisection and routes are those of equal nodes.
void refuse_other_nodes(const Scenario& scenario, const std::string& file) {
  Diagnostics diagnostics(file);
  if (!scenario.spec.cluster.other_nodes.empty())
    diagnostics.error("/cluster/other_nodes", "a fabric is drawn with equal nodes",
                      "--set cluster.other_nodes=[] draws the cluster's own");
  diagnostics.throw_if_faulty();
}

FabricReport of_scenario(const FabricQuestion& question, const Catalog& catalog) {
  const Scenario scenario = load_scenario(question.scenario, question.overrides, catalog);
  refuse_other_nodes(scenario, question.scenario);
  FabricReport out;
  out.name = question.scenario;
  out.node = scenario.node;
  out.network = scenario.network;
  out.nics = scenario.nics_per_node;
  out.nic_bandwidth = scenario.nic_bandwidth;
  const ClusterSpec& cluster = scenario.spec.cluster;
  out.fabric = build_fabric(cluster.fabric, *out.node, cluster.nodes, out.nics, out.nic_bandwidth,
                            scenario.network_switch, catalog, FabricDetail::switches);
  return out;
}

FabricReport of_node(const FabricQuestion& question, const Catalog& catalog) {
  Diagnostics diagnostics("command line");
  const Cluster cluster = read_cluster(question, catalog, diagnostics);
  diagnostics.throw_if_faulty();
  FabricReport out;
  out.name = fmt::format("{} × {}", cluster.nodes, cluster.node->id);
  out.node = cluster.node;
  set_nics(out, cluster.fabric);
  if (cluster.nodes > 1 && (out.nics == 0 || out.nic_bandwidth <= BytesPerSecond(0)))
    diagnostics.error("/cluster/fabric/nics_per_node",
                      fmt::format("missing: node \"{}\" lists no NIC for training traffic", cluster.node->id),
                      "state nics_per_node and nic_bandwidth_Gbps");
  diagnostics.throw_if_faulty();
  out.nic_bandwidth = cabled_nic_rate(cluster.fabric, cluster.nodes, out.nics, out.nic_bandwidth);
  const SwitchPart* part =
      network_switch(cluster.fabric, out.network, out.nic_bandwidth, catalog, "/cluster/fabric", diagnostics);
  diagnostics.throw_if_faulty();
  out.fabric = build_fabric(cluster.fabric, *out.node, cluster.nodes, out.nics, out.nic_bandwidth, part, catalog,
                            FabricDetail::switches);
  return out;
}

}  // namespace

bool FabricReport::faulty() const {
  return std::any_of(findings.begin(), findings.end(), [](const FabricFinding& f) { return f.fault; });
}

FabricReport describe_fabric(const FabricQuestion& question, const Catalog& catalog) {
  FabricReport report = question.scenario.empty() ? of_node(question, catalog) : of_scenario(question, catalog);
  look_over(report, catalog);
  return report;
}

}  // namespace stepcast
