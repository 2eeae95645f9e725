#pragma once

#include "calibration/fit/cluster/fit_collectives.hpp"

namespace stepcast {

/// What large messages of a collective reach on one number of nodes.
struct PlaceRate {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int nodes = 0, ranks = 0, per_node = 0;
  ElementWidth width = ElementWidth::usual;
  double bus_GBps = 0;  ///< of the largest message (nccl-tests' bus bandwidth)
  double off = 1;       ///< median measured / fitted time
};

/// Those of rows between nodes that were left to the library, from 4 MiB on; places with fewer than two such rows are
/// left out. Ordered by collective, ranks of a node, width and nodes.
std::vector<PlaceRate> place_rates(const ClusterFit& fit, const std::vector<ClusterRow>& rows);

/// Numbers of nodes that are far slower than the next smaller or larger one, against the fitted model of both, which
/// constants of the whole cluster cannot show: in words, with the bus bandwidths of either. Where most collectives that
/// were measured on both are slow it is the network, else the library.
std::vector<std::string> place_findings(const ClusterFit& fit, const std::vector<ClusterRow>& rows);

}  // namespace stepcast
