#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/astra_cluster.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

/// A link of the ns-3 backend's physical topology, between vertices by their number.
struct Ns3Link {
  int from = 0, to = 0;
  BytesPerSecond rate;
  Seconds delay;
  int line = 0;
};

struct Ns3Topology {
  int vertices = 0;
  std::vector<int> switches;  ///< vertices that are; the others are NPUs, in the order of their numbers
  std::vector<Ns3Link> links;
  bool lossy = false;  ///< some link has an error rate
  [[nodiscard]] int npus() const { return vertices - static_cast<int>(switches.size()); }
};

/// Whether a text is a physical topology for ns-3, by its first line: vertices, switches, links.
bool is_ns3_topology(std::string_view text);

/// Whether a text has the parameters that ns-3 runs with (`KEY value`), of which none describes the cluster.
bool is_ns3_config(std::string_view text);

/// Reads `144 16 192`, the switches' numbers, then a line for each link: `128 0 200Gbps 0.005ms 0`. Faults, with the
/// line: another number of switches or links, vertices out of range, rates and delays that are none. Source: the
/// reader of astra-sim/astra-network-ns3 (scratch/common.h).
Ns3Topology read_ns3_topology(std::string_view text, Diagnostics& diagnostics);

/// Every NPU a node with a NIC for each of its links, below a fabric cable by cable; without switches, the inside of
/// one node link by link. Faults: NPUs joined to one another beside switches, or by links of different rates.
AstraCluster cluster_of(const Ns3Topology& topology, Diagnostics& diagnostics);

}  // namespace stepcast
