#pragma once

#include <optional>
#include <string>

#include "models/collectives/collective.hpp"

namespace stepcast {

/// The machines that run a collective: what one node is made of and what joins the nodes. Points into the catalogue,
/// which must outlive it.
struct CollectiveMachine {
  const Node* node = nullptr;
  const Accelerator* accelerator = nullptr;  ///< null: processors
  const ComputeProfile* compute = nullptr;   ///< rate of the host link, shares inside training; may be null
  int devices_per_node = 1;
  int nics = 0;                  ///< of a node, for training traffic
  BytesPerSecond nic_bandwidth;  ///< raw rate of each, per direction
  NetworkKind network = NetworkKind::infiniband;
  double uplink_oversubscription = 1;
  bool in_training = false;       ///< beside computation, and waiting for the slowest rank: links reach less
  std::optional<Seconds> launch;  ///< start of a collective as measured on this host; null: the profile's
};

/// The machine of a scenario, inside training.
CollectiveMachine machine_of(const Scenario& scenario);
/// A node of the catalogue with its own NICs, as a benchmark meets it. Throws InputError when its accelerator is not
/// in the catalogue.
CollectiveMachine machine_of(const Node& node, const Catalog& catalog);

/// Rates and latencies of the machine's links, as the cost functions take them.
Interconnect interconnect_of(const CollectiveMachine& machine);

/// Why this machine cannot run a collective by an algorithm and protocol, in words for a message; null when it can.
/// `automatic` is always possible.
std::optional<std::string> unavailable_reason(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                              CollectiveProtocol protocol, const GroupShape& group,
                                              const CollectiveMachine& machine);

}  // namespace stepcast
