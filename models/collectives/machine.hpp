#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hardware-catalog/communication_profiles.hpp"
#include "models/collectives/collective.hpp"

namespace stepcast {

/// The machines that run a collective: what one node is made of and what joins the nodes. Points into the catalogue,
/// which must outlive it.
struct CollectiveMachine {
  const Node* node = nullptr;
  const Accelerator* accelerator = nullptr;         ///< null: processors
  const Cpu* cpu = nullptr;                         ///< null: not known
  const ComputeProfile* compute = nullptr;          ///< rate of the host link, shares inside training; may be null
  const LinkProfile* links = nullptr;               ///< null: links without latency that reach their raw rate
  const LinkProfile* host_links = nullptr;          ///< of PCIe where `links` do not join all devices; null: the same
  const NetworkProfile* network_profile = nullptr;  ///< null: the same
  const LibraryProfile* library = nullptr;          ///< null: one protocol, channels without limit
  int devices_per_node = 1;
  int nics = 0;                  ///< of a node, for training traffic
  BytesPerSecond nic_bandwidth;  ///< raw rate of each, per direction
  NetworkKind network = NetworkKind::infiniband;
  bool network_sums = false;  ///< the network's switches add (SHARP)
  bool single_ring = false;   ///< FrameworkProfile::single_ring
  /// Links of the device that has fewest where devices are the routers of a torus over several nodes; 0: they are none.
  std::int8_t torus_links = 0;
  std::optional<Seconds> launch;  ///< start of a collective as measured on this host; null: the profile's
};

/// The machine of a scenario, inside training.
CollectiveMachine machine_of(const Scenario& scenario);
/// A node of the catalogue with its own NICs, as a benchmark meets it. Throws InputError when its accelerator or its
/// processor is not in the catalogue.
CollectiveMachine machine_of(const Node& node, const Catalog& catalog);

/// CollectiveMachine::torus_links of so many of its nodes in a fabric.
std::int8_t torus_links_of(const CollectiveMachine& machine, const FabricSpec& fabric, int nodes);

/// Rates and latencies of the machine's links, as the cost functions take them.
Interconnect interconnect_of(const CollectiveMachine& machine);

/// Why this machine cannot run a collective by an algorithm and protocol, in words for a message; null when it can.
/// `automatic` is always possible.
std::optional<std::string> unavailable_reason(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                              CollectiveProtocol protocol, const GroupShape& group,
                                              const CollectiveMachine& machine);

/// Profile of a node's links: the entry named like the accelerator's family, else its generation's sibling (table in
/// profiles.cpp). Throws InputError when the catalogue has neither.
const LinkProfile* link_profile_of(const Node& node, const Accelerator* accelerator, const Catalog& catalog);
/// Profile of the PCIe by which devices meet that the node's own links do not join; null where these join all.
const LinkProfile* host_link_profile_of(const Node& node, const Accelerator* accelerator, const Catalog& catalog);
/// Profile of a kind of network: the entry of its name (`host-` before it between processors), else its sibling.
const NetworkProfile* network_profile_of(NetworkKind kind, bool host_memory, const Catalog& catalog);
/// Profile of the network that joins nodes of this one: the one that its NICs for training name where they are of the
/// kind, else the kind's.
const NetworkProfile* network_profile_of(const Node& node, NetworkKind kind, const Catalog& catalog);
/// Profile of the library that the accelerator's vendor ships.
const LibraryProfile* library_profile_of(const Accelerator* accelerator, const Catalog& catalog);

}  // namespace stepcast
