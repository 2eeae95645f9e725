#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/fabric/fabric.hpp"
#include "models/fabric/parts_tally.hpp"

namespace stepcast {

/// What the first `nodes` nodes in the fabric's order can send to the others: the minimum cut of the network between
/// them, found as a maximum flow (Boost's push-relabel; Goldberg & Tarjan 1988). Zero when either side is empty.
BytesPerSecond cut_bandwidth(const Fabric& fabric, int nodes);

/// What half of the nodes can send to the other half: the cut between the first ⌊N/2⌋ and the rest. The true bisection
/// is the least over all halves, which is too hard to find; on these fabrics the halves in order are the worst ones,
/// because neighbours share leaves, pods and slabs. What NICs carry limits it too.
BytesPerSecond bisection_bandwidth(const Fabric& fabric);

/// The same by arithmetic from the tiers of a preset, where nodes fall evenly into an even number of groups of every
/// tier; else none. A dragonfly's groups are joined each to each, so what a group sends leads to the other half with
/// (g/2)/(g − 1) of its cables; a torus' outermost tier is its half.
std::optional<BytesPerSecond> bisection_by_levels(FabricPreset preset, const FabricLevels& levels, int nodes,
                                                  BytesPerSecond node_network);

/// The longest of the shortest ways between NICs of two nodes.
struct FabricDiameter {
  int links = 0;    ///< of the network: two for two nodes on one switch
  Seconds latency;  ///< of the slowest shortest way
};
FabricDiameter diameter(const Fabric& fabric);

/// The switches of a tier.
struct SwitchTier {
  std::string name;  ///< leaf, spine, core
  int switches = 0;
  int most_ports = 0;  ///< that one of them needs, at the NICs' rate
  /// Of the switch in the catalogue that stand for them: where one has fewer ports than one of them needs, several, at
  /// least as many as its ports take.
  long parts = 0;
};

/// Equal cables: from nodes, or between two tiers.
struct CableRun {
  std::string name;  ///< "node to leaf"
  long cables = 0;
  BytesPerSecond bandwidth;  ///< of each
};

/// What a network is built of.
struct FabricInventory {
  std::vector<SwitchTier> tiers;
  std::vector<CableRun> cables;
  long ports = 0;                ///< of switches, in use
  long transceivers = 0;         ///< two for each cable of 100 Gb/s or more: as if all were optical, the upper bound
  std::optional<Watts> power;    ///< of switches, typical (highest where that is not known), and of transceivers
  std::optional<Dollars> price;  ///< of switches and transceivers
  std::string transceiver;       ///< catalogue id; empty: none known for the rate
  std::vector<std::string> composed;   ///< tiers whose switches are several of the catalogue's, in words
  std::vector<std::string> estimated;  ///< what they hold of switches by the catalogue's others (estimated_price)
  std::vector<std::string> unknown;    ///< what power and price leave out, in words

  [[nodiscard]] long switches() const;
  [[nodiscard]] long switch_parts() const;
  [[nodiscard]] long all_cables() const;
};
/// Counted on a graph, drawn with the detail `switches`.
FabricInventory inventory(const Fabric& fabric, const Catalog& catalog);
/// The same without drawing it: for machines of any size at once. Parameters and faults as of build_fabric().
FabricInventory fabric_inventory(const FabricSpec& spec, const Node& node, int nodes, int nics,
                                 BytesPerSecond nic_bandwidth, const SwitchPart* part, const Catalog& catalog);
/// Of what was tallied; `part`: the switch, null when none or unknown.
FabricInventory inventory(const PartsTally& tally, const FabricSpec& spec, bool torus, const SwitchPart* part,
                          const Catalog& catalog);

}  // namespace stepcast
