#pragma once

#include "models/collectives/collective.hpp"
#include "models/collectives/mpi.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What messages between a rank and peers of its choice meet: the ports they share, and what each costs to start.
struct PeerPorts {
  BytesPerSecond node;    ///< network of a node, per direction, all its ranks together
  BytesPerSecond rank;    ///< of it that one rank can use
  BytesPerSecond native;  ///< one rank inside its node, per direction
  Seconds hop;            ///< one message between nodes
  Seconds native_hop;     ///< one message inside a node
  Seconds gap;            ///< between messages of one rank, and between messages that one rank takes
};

/// Ports of accelerators, by the library that runs collectives on them.
PeerPorts peer_ports_of(const Interconnect& interconnect);
/// Ports of processes that send host memory.
PeerPorts peer_ports_of(const HostNetwork& network);

}  // namespace stepcast
