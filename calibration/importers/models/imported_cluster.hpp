#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/imported_scenario.hpp"

namespace stepcast {

/// Stands in where nobody names a model, so that a strategy can be looked at.
inline constexpr const char* kStandInModel = "llama3-8b";

/// Nodes and devices that a training runs on.
struct ImportedCluster {
  std::string node;  ///< the kind; a part of the target's where processes use so many of its devices only
  int nodes = 1, per_node = 1;
  [[nodiscard]] long devices() const { return static_cast<long>(nodes) * per_node; }
};

/// What another program's file says of its processes; 0 where it does not.
struct StatedProcesses {
  long all = 0;
  int nodes = 0;
};

/// The part of a node that so many processes use (`dgx-h100-4-of-8`); null where the catalogue has none.
const Node* part_of_node(long processes, const Node& node, const Catalog& catalog);

/// The nodes of the target's kind that hold the stated processes, or as many parts of them where the file says how many
/// machines share fewer processes, with a note. `--nodes` goes first, with a note where it says otherwise; processes
/// that fill no whole number of nodes are a fault.
ImportedCluster cluster_of(const StatedProcesses& stated, const ImportTarget& target, const Catalog& catalog,
                           std::vector<std::string>& notes, Diagnostics& diagnostics);

/// Sets workload.model and seq_len to the target's; a stand-in, with a note, where it names no model.
void take_model(Json& workload, const ImportTarget& target, std::vector<std::string>& notes);

}  // namespace stepcast
