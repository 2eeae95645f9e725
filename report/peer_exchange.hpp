#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/collective_cluster.hpp"
#include "report/collective_question.hpp"

namespace stepcast {

/// Fills one row of an answer; its size is there already.
using RowPricer = std::function<void(CollectiveRow&)>;

// Exchanges that no collective library has. Both throw InputError for options that do not fit the cluster.

/// Pushes to, or pulls from, parameter servers; of NCCL's network without a library.
RowPricer parameter_server_pricer(const CollectiveQuestion& question, const CollectiveCluster& cluster,
                                  const RankPlaces& places, std::optional<HostLibrary> library);

/// A round of gossip over the question's graph; adds a note when news cannot reach every rank.
RowPricer gossip_pricer(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
                        std::optional<HostLibrary> library, std::vector<std::string>& notes);

}  // namespace stepcast
