#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// Writes a step graph as Chakra traces: `PREFIX.RANK.et` for the lowest rank of each program, and `PREFIX.groups.json`
/// with the process groups that they name. Returns the files, in that order. Collectives that no trace knows
/// (send_recv) and work without a duration are refused. Throws InputError.
std::vector<std::filesystem::path> export_chakra(const std::string& prefix, const RankGraph& graph);

}  // namespace stepcast
