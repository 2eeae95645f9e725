#pragma once

#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// The nodes that a training runs on.
struct MegatronNodes {
  const Node* kind = nullptr;  ///< as the target's, or the part of it whose accelerators the script uses
  int count = 0;
};

/// Nodes of a kind: as many as are asked for, else the script's, else the fewest that the parallel degrees fill. Of a
/// script that starts fewer processes a node than it has accelerators, parts of them. `unit`: devices of which there
/// must be a whole multiple. What is assumed goes to the notes.
MegatronNodes megatron_nodes(MegatronArguments& arguments, const ImportTarget& target, const Node& node, long unit,
                             const Catalog& catalog);

}  // namespace stepcast
