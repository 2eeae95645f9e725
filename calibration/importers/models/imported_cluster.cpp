#include "calibration/importers/models/imported_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast {

const Node* part_of_node(long processes, const Node& node, const Catalog& catalog) {
  if (!node.has_accelerators() || processes >= node.devices()) return nullptr;
  return catalog.find<Node>(fmt::format("{}-{}-of-{}", node.id, processes, node.devices()));
}

ImportedCluster cluster_of(const StatedProcesses& stated, const ImportTarget& target, const Catalog& catalog,
                           std::vector<std::string>& notes, Diagnostics& diagnostics) {
  ImportedCluster out{target.node};
  const Node* node = catalog.find<Node>(target.node, "/cluster/node", diagnostics);
  if (!node) return out;
  out.per_node = std::max(1, node->devices());
  if (target.nodes) {
    out.nodes = *target.nodes;
    if (stated.all > 0 && stated.all != out.devices())
      notes.push_back(fmt::format("the file's {} processes, on {} devices (--nodes)", stated.all, out.devices()));
    return out;
  }
  if (stated.all == 0) {
    out.nodes = std::max(1, stated.nodes);
    return out;
  }
  const long machines = std::max(1, stated.nodes);
  const Node* part = stated.all % machines == 0 ? part_of_node(stated.all / machines, *node, catalog) : nullptr;
  if (part) {
    out = {part->id, static_cast<int>(machines), std::max(1, part->devices())};
    notes.push_back(fmt::format("{} process{} a node, {} has {} devices: {}", out.per_node,
                                out.per_node == 1 ? "" : "es", node->id, node->devices(), part->id));
    return out;
  }
  if (stated.all % out.per_node != 0) {
    diagnostics.error("",
                      fmt::format("{} processes fill no whole number of {}, which has {} devices", stated.all,
                                  target.node, out.per_node),
                      "--node names a kind of node that they fill, --nodes takes whole ones");
    return out;
  }
  out.nodes = static_cast<int>(stated.all / out.per_node);
  if (stated.nodes > 0 && stated.nodes != out.nodes)
    notes.push_back(fmt::format("{} processes on {} nodes of the file: {} of {} (--node)", stated.all, stated.nodes,
                                out.nodes, target.node));
  return out;
}

void take_model(Json& workload, const ImportTarget& target, std::vector<std::string>& notes) {
  workload["model"] = target.model.is_null() ? Json(kStandInModel) : target.model;
  if (target.model.is_null())
    notes.push_back(fmt::format("the file names no model: {} stands in (--model, --model-config)", kStandInModel));
  if (target.seq_len) workload["seq_len"] = *target.seq_len;
}

}  // namespace stepcast
