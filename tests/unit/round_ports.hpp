#pragma once

#include "models/collectives/peer_ports.hpp"

namespace stepcast {

/// 10 GB/s of network for a node, half of it for one rank, 50 GB/s inside it; no latencies unless asked for.
inline PeerPorts round_ports(Seconds hop = {}, Seconds gap = {}) {
  PeerPorts out;
  out.node = 10_GBps;
  out.rank = 5_GBps;
  out.native = 50_GBps;
  out.hop = hop;
  out.native_hop = hop / 2;
  out.gap = gap;
  return out;
}

}  // namespace stepcast
