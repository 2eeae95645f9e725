#pragma once

#include <filesystem>

#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// Reads a step-graph file, operation by operation. Throws InputError with everything that its fields show to be wrong;
/// what the operations mean together is RankIndex's to check, once the number of ranks is known.
RankGraph read_rank_graph(const std::filesystem::path& file);

/// Writes a step-graph file, whole or not at all, operation by operation. Throws InputError when it cannot be written.
void write_rank_graph(const std::filesystem::path& file, const RankGraph& graph);

/// The text of a step-graph file, one line an operation.
std::string rank_graph_text(const RankGraph& graph);

/// The graph run by every one of `ranks` ranks, where it does not say how many there are. Throws InputError when what
/// it says of groups, ranks or peers contradicts that.
RankGraph with_ranks(RankGraph graph, int ranks, const std::string& file);

}  // namespace stepcast
