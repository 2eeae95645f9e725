#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "calibration/importers/chakra/chakra_file.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

/// Ranks of each process group, by name. An empty list: all ranks.
using ProcessGroups = std::map<std::string, std::vector<int>>;

/// Reads `{"name": [ranks], …}`. Throws InputError.
ProcessGroups read_process_groups(const std::filesystem::path& file);

/// Adds what a metadata node of a PyTorch trace says of process groups ("## process_group:init ##"): a list of objects
/// with `pg_name` and `ranks`. Nothing when the node is another one or says it in no known way.
void add_process_groups(ProcessGroups& groups, const ChakraNode& node);

}  // namespace stepcast
