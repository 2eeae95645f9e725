#pragma once

#include <optional>
#include <string_view>

#include "fields/json_text.hpp"

namespace stepcast {

/// A network as a table of runs states it.
struct StatedNetwork {
  int nics_per_node = 0;
  double nic_bandwidth_Gbps = 0;
  std::string_view kind;  ///< name of NetworkKind
};

/// The `cluster` of a scenario for so many GPUs of a kind in servers of so many: the catalogue's node with these GPUs
/// (or part of one, calibration/data/catalog), joined by the stated network. Null when the catalogue has none.
Json cluster_of(std::string_view accelerator, long gpus, long gpus_per_node,
                const std::optional<StatedNetwork>& network = std::nullopt);

}  // namespace stepcast
