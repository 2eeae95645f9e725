#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/collectives/calibrated.hpp"
#include "models/rank_graph/rank_graph_file.hpp"
#include "models/storage/storage.hpp"
#include "report/collective_cluster.hpp"
#include "report/collective_question.hpp"
#include "report/rank_run.hpp"

namespace stepcast {

namespace {

/// The device of a cluster's nodes, for work in a precision; nothing where no profile is known.
std::optional<Device> device_for(const CollectiveCluster& cluster, const RankGraph& graph, const Catalog& catalog,
                                 const std::string& file) {
  if (cluster.raw) return std::nullopt;
  const bool wanted = std::any_of(graph.programs.begin(), graph.programs.end(), [](const RankProgram& program) {
    return std::any_of(program.operations.begin(), program.operations.end(),
                       [](const RankOperation& operation) { return operation.work || operation.memory; });
  });
  if (!wanted) return std::nullopt;
  // All that device_of looks at.
  Scenario scenario;
  scenario.node = cluster.machine.node;
  scenario.accelerator = cluster.machine.accelerator;
  scenario.compute = cluster.machine.compute;
  scenario.precision = graph.precision;
  if (!scenario.accelerator && !scenario.node->cpu.empty()) scenario.cpu = catalog.find<Cpu>(scenario.node->cpu);
  if (!scenario.compute || (!scenario.accelerator && !scenario.cpu)) return std::nullopt;
  if (scenario.accelerator && scenario.accelerator->peak(graph.precision) <= FlopsPerSecond(0))
    throw InputError(
        {{file, "/precision",
          fmt::format("found {}, which {} does not compute in", name_of(graph.precision), scenario.accelerator->id),
          "a precision of the accelerator (stepcast catalog show)"}});
  return device_of(scenario);
}

int nodes_for(const RankRunQuestion& question, const CollectiveCluster& found, int per_node, const RankGraph& graph) {
  if (question.nodes) return *question.nodes;
  if (found.nodes) return *found.nodes;
  return graph.ranks ? std::max(1, (*graph.ranks + per_node - 1) / per_node) : 1;
}

/// The option that names a cluster here.
CollectiveCluster found_cluster(const CollectiveQuestion& asked, const Catalog& catalog) {
  try {
    return find_cluster(asked, catalog);
  } catch (const InputError& error) {
    std::vector<Fault> faults = error.faults();
    for (Fault& fault : faults)
      if (fault.file == "--cluster") fault.file = "--node";
    throw InputError(std::move(faults));
  }
}

GraphCluster cluster_of(const RankRunQuestion& question, const RankGraph& graph, const Catalog& catalog) {
  CollectiveQuestion asked;
  asked.cluster = question.cluster;
  asked.overrides = question.overrides;
  CollectiveCluster found = found_cluster(asked, catalog);
  // A step computes beside its collectives and waits for its slowest rank.
  GraphCluster out;
  out.devices_per_node = found.raw ? 1 : std::max(1, found.machine.devices_per_node);
  out.nodes = nodes_for(question, found, out.devices_per_node, graph);
  if (found.most_nodes && out.nodes > *found.most_nodes)
    throw InputError({{"--nodes", "",
                       fmt::format("found {}, and the scenario's cluster has {}", out.nodes, *found.most_nodes), ""}});
  if (found.raw) found.most_nodes.reset();
  const RankPlaces places{out.devices(), out.devices_per_node, out.nodes};
  out.interconnect = placed_group(found, places).interconnect;
  out.levels = cluster_levels(found, places);
  out.order = placed_nodes(found, places);
  if (!found.raw) {
    out.machine = found.machine;
    out.notes = calibration_remarks(found.machine, out.nodes);
  }
  out.device = device_for(found, graph, catalog, question.graph);
  out.words = fmt::format("{} × {}: {}", out.nodes, found.name, found.words());
  if (found.scenario) {
    out.drives = node_read_rate(*found.scenario);
    out.algorithm = found.scenario->spec.strategy.collective_algorithm;
    out.protocol = found.scenario->spec.strategy.collective_protocol;
  }
  return out;
}

}  // namespace

Json to_json(const RankRunQuestion& question) {
  Json out{{"graph", question.graph}, {"cluster", question.cluster}, {"overrides", question.overrides}};
  if (question.nodes) out["nodes"] = *question.nodes;
  return out;
}

RankRunQuestion rank_run_question(const Json& message) {
  try {
    RankRunQuestion out{message.at("graph").get<std::string>(), message.at("cluster").get<std::string>(), {}, {}};
    if (message.contains("nodes")) out.nodes = message.at("nodes").get<int>();
    if (message.contains("overrides")) out.overrides = message.at("overrides").get<std::vector<std::string>>();
    return out;
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("\"step\": {}", error.what()));
  }
}

std::unique_ptr<LaidStep> lay_step(const RankRunQuestion& question, const Catalog& catalog) {
  auto out = std::make_unique<LaidStep>();
  out->source = read_rank_graph(question.graph);
  out->cluster = cluster_of(question, out->source, catalog);
  if (!out->source.ranks) out->source = with_ranks(std::move(out->source), out->cluster.devices(), question.graph);
  out->index.emplace(out->source, RankGraphPlaces(question.graph));
  out->classes.emplace(*out->index, out->cluster.devices_per_node);
  out->step = build_rank_step(*out->index, *out->classes, out->cluster, question.graph);
  return out;
}

}  // namespace stepcast
