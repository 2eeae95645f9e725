#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/collectives/parameter_server.hpp"
#include "report/collective_table.hpp"

namespace stepcast {

/// What a user can ask the times of: the collectives, and exchanges that no collective library has.
enum class ExchangeKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  send_recv,
  reduce,
  barrier,
  parameter_server_push,
  parameter_server_pull,
  gossip,
  all_to_all_v
};
template <>
struct EnumNames<ExchangeKind> {
  static constexpr std::array names{"all_reduce",
                                    "all_gather",
                                    "reduce_scatter",
                                    "all_to_all",
                                    "broadcast",
                                    "send_recv",
                                    "reduce",
                                    "barrier",
                                    "parameter_server_push",
                                    "parameter_server_pull",
                                    "gossip",
                                    "all_to_all_v"};
};

enum class GossipGraphKind : std::uint8_t { ring, torus, exponential, random_regular };
template <>
struct EnumNames<GossipGraphKind> {
  static constexpr std::array names{"ring", "torus", "exponential", "random-regular"};
};

/// A question about one exchange over a few sizes, as the command line or the GUI puts it. Words that name choices
/// (`algorithm`, `protocol`, `library`, `cluster`) are checked when it is answered, for what is valid depends on the
/// cluster.
struct CollectiveQuestion {
  ExchangeKind op = ExchangeKind::all_reduce;
  std::vector<Bytes> sizes;            ///< of the whole buffer, as nccl-tests counts
  std::string cluster;                 ///< id of a node, a scenario file, or a preset of raw hosts
  std::vector<std::string> overrides;  ///< `cluster.fabric.oversubscription=2`; of a scenario any
  std::optional<int> ranks, ranks_per_node, nodes;
  std::string algorithm, protocol, library;  ///< empty: the library's own
  ElementType type = element_types().front();
  bool full = false;  ///< every rank and every flow
  std::uint64_t seed = 1;
  std::optional<Seconds> jitter;  ///< mean lateness of a rank; not stated: the calibration's, else none

  // Of parameter servers: how many hold a shard each (default 1), on nodes apart by default.
  std::optional<int> servers, servers_per_node;
  std::optional<ServerPlacement> server_placement;
  [[nodiscard]] bool of_servers() const {
    return op == ExchangeKind::parameter_server_push || op == ExchangeKind::parameter_server_pull;
  }
  /// The servers beside these workers.
  [[nodiscard]] ParameterServers server_layout(int workers, int workers_per_node) const {
    return {workers, workers_per_node, servers.value_or(1), servers_per_node.value_or(1),
            server_placement.value_or(ServerPlacement::apart)};
  }
  // Of gossip: name of a kind of graph (default ring) or file of edges; peers of a rank in a random-regular one
  // (default 4).
  std::string graph;
  std::optional<int> degree;
  std::optional<double> imbalance;  ///< all_to_all_v: what the busiest rank sends or receives over the mean
};

/// Answers it. Throws InputError with what is unknown or impossible, named by option or JSON pointer, and
/// EnvironmentError when a simulation is needed and its worker cannot run.
CollectiveTable answer(const CollectiveQuestion& question, const Catalog& catalog);

}  // namespace stepcast
