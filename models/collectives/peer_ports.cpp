#include "models/collectives/peer_ports.hpp"

namespace stepcast {

PeerPorts peer_ports_of(const Interconnect& net) {
  // Messages to several peers are one launch; each further peer costs what it costs in an all_to_all.
  return {net.node_network,
          net.rank_network,
          net.native,
          net.launch + net.network_launch + net.network_hop,
          net.launch + net.native_hop,
          net.remote_peer_start,
          {}};
}

PeerPorts peer_ports_of(const HostNetwork& net) {
  return {net.node_to_all(), net.stream, net.local, net.latency, net.local_latency, net.gap, {}};
}

}  // namespace stepcast
