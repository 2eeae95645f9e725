#pragma once

#include <vector>

#include "models/collectives/collective.hpp"
#include "models/collectives/mpi.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What messages between a rank and peers of its choice meet: the ports they share, and what each costs to start.
struct PeerPorts {
  /// A level of the fabric that nodes' messages may leave: which of its members each node is in, and what leads out.
  struct Level {
    BytesPerSecond up;         ///< of a member, per direction
    std::vector<int> members;  ///< by node
  };
  BytesPerSecond node;        ///< network of a node, per direction, all its ranks together
  BytesPerSecond rank;        ///< of it that one rank can use
  BytesPerSecond native;      ///< one rank inside its node, per direction; 0: no links there
  Seconds hop;                ///< one message between nodes
  Seconds native_hop;         ///< one message inside a node
  Seconds gap;                ///< between messages of one rank, and between messages that one rank takes
  std::vector<Level> levels;  ///< where `node` does not hold what they let through
};

/// Ports of accelerators, by the library that runs collectives on them.
PeerPorts peer_ports_of(const Interconnect& interconnect);
/// Ports of processes that send host memory.
PeerPorts peer_ports_of(const HostNetwork& network);

}  // namespace stepcast
