#include "models/collectives/parameter_server.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// Loads of the network ports, in buffers (of `size` bytes).
struct Loads {
  double worker_rank = 0;  ///< leaves one worker for other nodes
  double worker_node = 0;  ///< leaves the busiest node that only has workers
  double server = 0;       ///< enters one server from other nodes
  double server_node = 0;  ///< enters the busiest node with servers
  double native = 0;       ///< leaves one worker for servers on its node, or enters such a server
  int messages = 0;        ///< of the busiest worker or server
};

Loads apart(const ParameterServers& at) {
  Loads out;
  out.worker_rank = 1;
  out.worker_node = std::min(at.workers_per_node, at.workers);
  out.server = static_cast<double>(at.workers) / at.servers;
  out.server_node = out.server * std::min(at.servers_per_node, at.servers);
  out.messages = std::max(at.workers, at.servers);
  return out;
}

/// Servers are dealt to the nodes in turn, so a node has at most ⌈K/nodes⌉ of them.
Loads colocated(const ParameterServers& at) {
  const int nodes = at.worker_nodes();
  const int on_a_node = std::min(at.workers_per_node, at.workers);
  const int most = (at.servers + nodes - 1) / nodes, least = at.servers / nodes;
  const double workers = at.workers, servers = at.servers;
  Loads out;
  out.worker_rank = 1 - least / servers;
  out.worker_node = on_a_node * out.worker_rank;
  out.server = (workers - on_a_node) / servers;
  out.server_node = most * out.server;
  out.native = std::max(most / servers, on_a_node / servers);
  out.messages = std::max(at.workers, at.servers);
  return out;
}

Seconds transfer(double buffers, Bytes size, BytesPerSecond rate) {
  return buffers > 0 ? size * buffers / rate : Seconds(0);
}

}  // namespace

ServerExchange parameter_server_exchange(Bytes size, const ParameterServers& layout, const PeerPorts& ports) {
  const Loads loads = layout.placement == ServerPlacement::apart ? apart(layout) : colocated(layout);
  const bool remote = std::max(loads.worker_node, loads.server_node) > 0;
  ServerExchange out;
  out.start = (remote ? ports.hop : ports.native_hop) + ports.gap * (loads.messages - 1);
  const BytesPerSecond rank = std::min(ports.rank, ports.node);
  const Seconds network =
      std::max({transfer(loads.worker_node, size, ports.node), transfer(loads.server_node, size, ports.node),
                transfer(loads.worker_rank, size, rank), transfer(loads.server, size, rank)});
  out.time = out.start + std::max(network, transfer(loads.native, size, ports.native));
  out.busiest_node = size * std::max(loads.worker_node, loads.server_node);
  out.server_bound = loads.server_node > loads.worker_node;
  return out;
}

}  // namespace stepcast
