#pragma once

#include <vector>

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/levels.hpp"

namespace stepcast {

/// Node of the fabric that each node of ranks takes; empty when that is its own number. `packed`: as they come.
/// `scattered`: one of each innermost group in turn, so that neighbours are as far apart as can be. node_order: itself.
/// Ranks fill the devices of a node in order, whatever node it is. A job that shares the fabric has `nodes` of it only,
/// every `step`-th one from `first` on: they alone are dealt out, and node_order counts them.
std::vector<int> place_nodes(const FabricSpec& spec, const FabricLevels& levels, int nodes, int first = 0,
                             int step = 1);

}  // namespace stepcast
