#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

struct ChakraImport {
  std::vector<std::filesystem::path> files;             ///< one for each rank: `name.RANK.et`
  std::optional<std::filesystem::path> process_groups;  ///< JSON: names of groups with their ranks
  std::optional<int> ranks;                             ///< how many there are, when that is more than files
};

/// A step graph from Chakra execution traces (docs/formats/chakra.md says what is taken for what, and from where it is
/// known). Ranks without a trace of their own do what the nearest rank below them does, which the notes say. Throws
/// InputError with the faults of all traces: what no node of the format is, and what RankIndex refuses.
RankGraph import_chakra(const ChakraImport& request);

}  // namespace stepcast
