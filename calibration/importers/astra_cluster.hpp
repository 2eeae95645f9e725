#pragma once

#include <string>
#include <vector>

#include "calibration/importers/astra_config.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// ASTRA-sim's network as nodes and the fabric between them.
struct AstraCluster {
  int npus_per_node = 1;
  int nodes = 1;
  NodeInterconnect interior;
  int nics = 0;
  BytesPerSecond nic_bandwidth;
  Json fabric = Json::object();    ///< `cluster.fabric`
  std::vector<std::string> notes;  ///< what the mapping assumes and loses
};

AstraCluster cluster_of(const AstraNetwork& network);

/// The catalogue entry of a node of such a cluster, with accelerators of a kind standing for NPUs.
Json node_of(const AstraCluster& cluster, const std::string& id, const Accelerator& accelerator,
             const std::string& source, const Catalog& catalog);

}  // namespace stepcast
