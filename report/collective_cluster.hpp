#pragma once

#include <memory>
#include <string>

#include "models/collectives/machine.hpp"
#include "models/collectives/mpi.hpp"
#include "models/collectives/peer_ports.hpp"
#include "models/fabric/levels.hpp"
#include "report/collective_question.hpp"
#include "sim/collective/collective_run.hpp"

namespace stepcast {

/// Where the ranks of a question are: `per_node` on each of `nodes`. Behind those come nodes of parameter servers
/// alone.
struct RankPlaces {
  int ranks = 1, per_node = 1, nodes = 1;
  int server_nodes = 0;
  [[nodiscard]] int all_nodes() const { return nodes + server_nodes; }
};

/// What a question's `--cluster` names, looked up.
///
/// `raw` hosts have one rank and one NIC of 25 GB/s each, every link takes 1 µs and nothing else takes time: the
/// network of ASTRA-sim's published ring all-reduce figures (preset single-gpu-star), and the same hosts on other
/// fabrics.
struct CollectiveCluster {
  std::string name;
  bool raw = false;
  std::shared_ptr<const Scenario> scenario;  ///< null unless a scenario file was named
  CollectiveMachine machine;
  FabricSpec fabric;
  const SwitchPart* network_switch = nullptr;
  int most_per_node = 1;
  std::optional<int> most_nodes;
  std::optional<int> nodes;  ///< of a scenario: what ranks default to

  [[nodiscard]] bool has_accelerators() const { return raw || machine.node->has_accelerators(); }
  /// "8 × h100-sxm-80gb a node, 8 NICs of 400 Gb/s (infiniband)"
  [[nodiscard]] std::string words() const;
};

/// Names of the presets of raw hosts.
std::vector<std::string> raw_presets();

/// Looks the cluster up and applies the question's overrides. Throws InputError.
CollectiveCluster find_cluster(const CollectiveQuestion& question, const Catalog& catalog);

/// Puts the question's ranks on nodes: as many on each as it says, by default all devices; its servers apart on further
/// ones. Throws InputError when they do not come out even or there are not so many.
RankPlaces place_ranks(const CollectiveQuestion& question, const CollectiveCluster& cluster);

/// Tiers of the cluster's network, for so many nodes.
FabricLevels cluster_levels(const CollectiveCluster& cluster, const RankPlaces& places);

/// Node of the fabric that each node of ranks takes; empty: its own number.
std::vector<int> placed_nodes(const CollectiveCluster& cluster, const RankPlaces& places);

/// Finds the switch of the cluster's fabric and checks that it can join the places' nodes. Throws InputError.
void settle_fabric(CollectiveCluster& cluster, const RankPlaces& places, const Catalog& catalog);

/// Links of the cluster and the group of all ranks, with what it sends over the fabric's levels.
struct PlacedGroup {
  Interconnect interconnect;
  GroupShape group;
};
PlacedGroup placed_group(const CollectiveCluster& cluster, const RankPlaces& places);

/// Whether messages are laid on the links of the fabric, because the loads of its levels are less than what they meet:
/// rings and pairs load the links of tori, listed cables and rails unevenly, ranks their node's NICs, and where
/// up-links hold an exchange up, some of its rounds leave them idle. Fabrics too large to be drawn for it are priced by
/// their levels all the same.
bool is_laid_on_links(const CollectiveCluster& cluster, const RankPlaces& places);

/// Network of processes with host memory on the places' nodes.
HostNetwork placed_host_network(const CollectiveCluster& cluster, const RankPlaces& places, HostLibrary library);

/// Levels of the fabric as messages between peers of a rank's choice meet them.
std::vector<PeerPorts::Level> peer_levels(const CollectiveCluster& cluster, const RankPlaces& places);

/// Ranks that leave devices of their node idle send by the NICs nearest to their own devices (`NodeInterior`): four of
/// eight devices that share four NICs reach two, and four of six that share two NICs wait for the one that three share.
void reach_nearest_nics(Interconnect& interconnect, int ranks_per_node, int devices_per_node);

/// The group where one rank of each node sends to the next, over the NICs of its own rails: the up-links of the others
/// are nothing to it.
GroupShape on_own_rails(GroupShape group, const CollectiveCluster& cluster, const RankPlaces& places);

/// The group with what hashed paths (ecmp) add to an exchange of all pairs: more messages than can be laid on cables
/// one by one. Of the mean μ of messages that each of m cables carries by chance, the fullest has μ + √(2·μ·ln m)
/// (largest of m normal draws). For Clos networks, whose tiers' cables are equal choices.
GroupShape with_collisions(GroupShape group, const CollectiveCluster& cluster, const RankPlaces& places);

/// What executes a collective of all ranks rank by rank: the setting, whose network is built when it is first needed,
/// and the devices that the ranks have. The cluster and the catalogue must outlive it.
struct PlacedSetting {
  CollectiveSetting setting;
  GroupShape group;
  std::vector<int> devices;
};
PlacedSetting placed_setting(const CollectiveCluster& cluster, const RankPlaces& places, const Catalog& catalog);

}  // namespace stepcast
