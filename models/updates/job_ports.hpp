#pragma once

#include "models/collectives/peer_ports.hpp"
#include "models/parallelism/job.hpp"

namespace stepcast {

/// What messages between a job's ranks and peers of their choice meet, its fabric's levels and their latency included.
PeerPorts peer_ports_of(const Job& job);

}  // namespace stepcast
