#pragma once

#include <cstdint>

#include "models/collectives/peer_ports.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Where parameter servers run: on the workers' nodes, one a node until all have one, or on nodes of their own.
enum class ServerPlacement : std::uint8_t { apart, colocated };
template <>
struct EnumNames<ServerPlacement> {
  static constexpr std::array names{"apart", "colocated"};
};

/// Workers and the servers that hold equal shards of the parameters.
struct ParameterServers {
  int workers = 1;
  int workers_per_node = 1;
  int servers = 1;
  int servers_per_node = 1;  ///< apart only; they share the node's NICs
  ServerPlacement placement = ServerPlacement::apart;
  [[nodiscard]] int worker_nodes() const { return (workers + workers_per_node - 1) / workers_per_node; }
  /// Nodes of servers alone, which come after the workers'.
  [[nodiscard]] int server_nodes() const {
    return placement == ServerPlacement::apart ? (servers + servers_per_node - 1) / servers_per_node : 0;
  }
  [[nodiscard]] int node_of_server(int server) const {
    return placement == ServerPlacement::apart ? worker_nodes() + server / servers_per_node : server % worker_nodes();
  }
};

/// One push or pull of everybody at once.
struct ServerExchange {
  Seconds time;
  Seconds start;              ///< of it before bytes flow: hop and messages of the busiest rank or server
  Bytes busiest_port;         ///< through the port of the network that takes longest: a node's, a rank's, a level's
  bool server_bound = false;  ///< that port leads to servers, not away from workers
};

/// Time until every worker has sent its `size` bytes, one shard to each server, and every server has taken them (a
/// push); a pull is the same the other way round, so the same holds. All flows share ports max-min and end together at
/// the busiest: worker nodes send p·S, server nodes take W·S/K for each server on them (Li et al. 2014, OSDI), and the
/// levels of `ports`, whose members are by node, workers' nodes first, let through what has its other end elsewhere;
/// shards whose server is on the worker's own node stay inside it. Time-outs of TCP under incast are not modelled.
ServerExchange parameter_server_exchange(Bytes size, const ParameterServers& layout, const PeerPorts& ports);

}  // namespace stepcast
