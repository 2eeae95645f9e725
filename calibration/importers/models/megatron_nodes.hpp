#pragma once

#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// Nodes of a kind that the training runs on: those that are asked for, else the script's, else the fewest that the
/// parallel degrees fill. `unit`: devices of which there must be a whole multiple. What is assumed goes to the notes.
int megatron_nodes(MegatronArguments& arguments, const ImportTarget& target, const Node& node, long unit);

}  // namespace stepcast
