#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collectives/machine.hpp"
#include "models/compute/device.hpp"
#include "models/fabric/levels.hpp"

namespace stepcast {

/// What a step graph runs on. Ranks fill nodes one after another.
struct GraphCluster {
  std::string words;  ///< for reports: "2 × dgx-h100, …"
  int nodes = 1, devices_per_node = 1;
  Interconnect interconnect;                 ///< with the fabric's levels as its uplinks
  std::optional<CollectiveMachine> machine;  ///< what calibrations are true of; without: hosts that nobody measured
  FabricLevels levels;
  std::vector<int> order;                ///< place_nodes of the fabric
  std::optional<Device> device;          ///< times work; without: a graph must state durations
  std::optional<BytesPerSecond> drives;  ///< at which a node reads from storage
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  CollectiveProtocol protocol = CollectiveProtocol::automatic;
  std::vector<std::string> notes;  ///< calibrations that times rest on, for reports

  [[nodiscard]] int devices() const { return nodes * devices_per_node; }
  [[nodiscard]] int node_of(int rank) const { return rank / devices_per_node; }
  /// Which member of a level (which leaf, which pod) a node belongs to.
  [[nodiscard]] int member(std::size_t level, int node) const {
    return (order.empty() ? node : order[static_cast<std::size_t>(node)]) / levels.levels[level].nodes;
  }
};

}  // namespace stepcast
