#include "calibration/importers/models/megatron_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "calibration/importers/models/imported_cluster.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

/// A count that the launcher is told; 0 where it is not, or asks the machine.
int launched(MegatronArguments& arguments, const ImportTarget& target, std::initializer_list<const char*> options,
             std::initializer_list<const char*> variables, const char* ours) {
  std::string found, name;
  for (const char* option : options)
    if (arguments.list.has(option) && found.empty()) found = arguments.list.text(name = option);
  for (const char* variable : variables)
    if (found.empty()) found = arguments.list.variable(variable);
  if (found.starts_with('$') && !name.empty() && !target.nodes)
    arguments.diagnostics.error("", fmt::format("{}: found {}, which the script does not set", name, shown(found)),
                                fmt::format("{} says it", ours));
  return std::max(0, whole_number(found).value_or(0));
}

/// What a script says: nodes of the kind that is asked for, or parts of them, with as many devices as it starts
/// processes; no number where it does not say.
MegatronNodes nodes_of_script(MegatronArguments& arguments, const ImportTarget& target, const Node& node, long unit,
                              const Catalog& catalog) {
  const int nodes = launched(arguments, target, {"--nnodes", "--num_nodes"},
                             {"NNODES", "NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, "--nodes");
  const int processes =
      launched(arguments, target, {"--nproc_per_node", "--nproc-per-node", "--num_gpus"}, {"GPUS_PER_NODE"}, "--node");
  const long devices = static_cast<long>(processes) * nodes;
  if (processes == 0 || processes == node.devices()) return {&node, nodes};
  const std::string differ = fmt::format("the script starts {} process{} a node, {} has {} devices", processes,
                                         processes == 1 ? "" : "es", target.node, node.devices());
  // Scripts whose processes do not fill their degrees are examples to be changed.
  const bool holds = processes * std::max(1L, static_cast<long>(nodes)) >= unit;
  if (const Node* part = holds ? part_of_node(processes, node, catalog) : nullptr) {
    arguments.notes.push_back(fmt::format("{}: {}", differ, part->id));
    return {part, nodes};
  }
  if (devices % node.devices() != 0) {
    arguments.diagnostics.error("", fmt::format("{}, and {} fill no whole number of them", differ, devices),
                                fmt::format("--node names a kind of {} devices, --nodes says how many", processes));
    return {&node, nodes};
  }
  const int ours = static_cast<int>(devices / node.devices());
  arguments.notes.push_back(ours == 0 ? fmt::format("{} (--node)", differ)
                                      : fmt::format("{}: {} nodes for the {} devices (--node)", differ, ours, devices));
  return {&node, ours};
}

}  // namespace

MegatronNodes megatron_nodes(MegatronArguments& arguments, const ImportTarget& target, const Node& node, long unit,
                             const Catalog& catalog) {
  MegatronNodes out{&node, target.nodes.value_or(0)};
  if (out.count == 0) out = nodes_of_script(arguments, target, node, unit, catalog);
  const long per_node = std::max(1, out.kind->devices());
  int& nodes = out.count;
  const int fewest = static_cast<int>((unit + per_node - 1) / per_node);
  // Megatron-LM's own examples say one node beside degrees that fill sixteen ("Change for multinode config").
  if (!target.nodes && nodes > 0 && nodes < fewest) {
    arguments.notes.push_back(fmt::format(
        "the script's {} node{} of {} cannot hold the parallel degrees, which need {} devices: {} nodes (--nodes)",
        nodes, nodes == 1 ? "" : "s", per_node, unit, fewest));
    nodes = fewest;
  }
  if (nodes == 0) {
    nodes = fewest;
    arguments.notes.push_back(
        fmt::format("{} node{}: the fewest that the parallel degrees fill (--nodes)", nodes, nodes == 1 ? "" : "s"));
  }
  return out;
}

}  // namespace stepcast
