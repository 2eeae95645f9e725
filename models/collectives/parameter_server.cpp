#include "models/collectives/parameter_server.hpp"

#include <algorithm>
#include <vector>

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

/// What passes one port of the network.
struct PortLoad {
  double buffers = 0;
  BytesPerSecond rate;
  bool into_servers = false;  ///< else out of workers
};

/// Out of and into every member of a level.
void add_level(std::vector<PortLoad>& out, const PeerPorts::Level& level, const ParameterServers& at) {
  const auto members = static_cast<std::size_t>(*std::max_element(level.members.begin(), level.members.end())) + 1;
  const auto member_of = [&](int node) {
    return static_cast<std::size_t>(level.members[static_cast<std::size_t>(node)]);
  };
  std::vector<double> workers(members), servers(members);
  for (int worker = 0; worker < at.workers; ++worker) ++workers[member_of(worker / at.workers_per_node)];
  for (int server = 0; server < at.servers; ++server) ++servers[member_of(at.node_of_server(server))];
  for (std::size_t member = 0; member < members; ++member) {
    const double held = servers[member] / at.servers;
    out.push_back({workers[member] * (1 - held), level.up, false});
    out.push_back({(at.workers - workers[member]) * held, level.up, true});
  }
}

Seconds transfer(double buffers, Bytes size, BytesPerSecond rate) {
  return buffers > 0 ? size * buffers / rate : Seconds(0);
}

}  // namespace

ServerExchange parameter_server_exchange(Bytes size, const ParameterServers& layout, const PeerPorts& ports) {
  const Loads loads = layout.placement == ServerPlacement::apart ? apart(layout) : colocated(layout);
  const bool remote = std::max(loads.worker_node, loads.server_node) > 0;
  const BytesPerSecond rank = std::min(ports.rank, ports.node);
  std::vector<PortLoad> network{{loads.worker_node, ports.node, false},
                                {loads.server_node, ports.node, true},
                                {loads.worker_rank, rank, false},
                                {loads.server, rank, true}};
  for (const PeerPorts::Level& level : ports.levels) add_level(network, level, layout);
  const auto time_of = [&](const PortLoad& port) { return transfer(port.buffers, size, port.rate); };
  const PortLoad& busiest = *std::max_element(
      network.begin(), network.end(), [&](const PortLoad& a, const PortLoad& b) { return time_of(a) < time_of(b); });
  ServerExchange out;
  out.start = (remote ? ports.hop : ports.native_hop) + ports.gap * (loads.messages - 1);
  // Hosts without links inside pass what stays on them through memory, which takes no time of theirs.
  const Seconds native = ports.native > BytesPerSecond(0) ? transfer(loads.native, size, ports.native) : Seconds(0);
  out.time = out.start + std::max(time_of(busiest), native);
  out.busiest_port = size * busiest.buffers;
  out.server_bound = busiest.into_servers;
  return out;
}

}  // namespace stepcast
