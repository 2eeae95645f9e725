#pragma once

#include <optional>
#include <string>

#include "fields/field_table.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// When a worker's gradients meet the others'.
///
/// `asynchronous`: servers apply each push at once. `stale_synchronous`: the same, but no worker begins a step more
/// than `staleness_bound` ahead of the slowest (Ho et al. 2013). `backup_workers`: a step ends with the first N − b
/// gradients (Chen et al. 2016). `local`: models are averaged every `local_steps` steps (local SGD, DiLoCo). `gossip`:
/// each step averages with the neighbours in a graph (D-PSGD, Lian et al. 2017). `pair_averaging`: with one peer at a
/// time, without waiting (AD-PSGD, Lian et al. 2018). `federated`: rounds of federated averaging over a wide-area
/// network (McMahan et al. 2017).
enum class UpdateMode {
  synchronous,
  asynchronous,
  stale_synchronous,
  backup_workers,
  local,
  gossip,
  pair_averaging,
  federated
};
template <>
struct EnumNames<UpdateMode> {
  static constexpr std::array names{"synchronous", "asynchronous", "stale-synchronous", "backup-workers",
                                    "local",       "gossip",       "pair-averaging",    "federated"};
};

/// What exchanges gradients or models with others: every device, or a node whose devices have reduced theirs first.
enum class WorkerUnit { device, node };
template <>
struct EnumNames<WorkerUnit> {
  static constexpr std::array names{"device", "node"};
};

/// Where parameter servers run: on nodes of their own, on the workers' nodes, or one on the driver's node.
enum class ServerHost { own_nodes, on_workers, driver };
template <>
struct EnumNames<ServerHost> {
  static constexpr std::array names{"own-nodes", "on-workers", "driver"};
};

/// How parameters lie on servers: every tensor cut evenly; whole tensors dealt out in turn; large tensors cut evenly
/// and small ones whole.
enum class ServerSharding { balanced, by_variable, large_arrays };
template <>
struct EnumNames<ServerSharding> {
  static constexpr std::array names{"balanced", "by-variable", "large-arrays"};
};

struct ParameterServerSpec {
  int count = 1;
  ServerHost placement = ServerHost::on_workers;
  std::optional<ServerSharding> sharding;  ///< default: the framework's
  std::string node;  ///< own-nodes and driver: catalogue id; empty: the workers' kind without its accelerators
  static const FieldTable<ParameterServerSpec>& fields();
  bool operator==(const ParameterServerSpec&) const = default;
};

enum class GossipTopology { ring, torus, exponential };
template <>
struct EnumNames<GossipTopology> {
  static constexpr std::array names{"ring", "torus", "exponential"};
};

/// How gradients are made smaller before they are sent.
enum class CompressionMethod { none, fp16, top_k, random_k, one_bit, two_bit, powersgd };
template <>
struct EnumNames<CompressionMethod> {
  static constexpr std::array names{"none", "fp16", "top-k", "random-k", "1-bit", "2-bit", "powersgd"};
};

struct CompressionSpec {
  CompressionMethod method = CompressionMethod::none;
  double ratio = 0.01;  ///< top-k and random-k: share of the elements that is sent
  int rank = 4;         ///< powersgd
  static const FieldTable<CompressionSpec>& fields();
  bool operator==(const CompressionSpec&) const = default;
};

/// Federated averaging: cluster.nodes clients take part in each round.
struct FederatedSpec {
  std::optional<long> clients;      ///< of whom a round's are drawn; default: cluster.nodes
  double local_epochs = 1;          ///< of a client over its own samples, each round
  double samples_per_client = 600;  ///< mean
  BytesPerSecond upload, download;  ///< upload_Mbps, download_Mbps, of each client
  BytesPerSecond server;            ///< server_Mbps, each direction, of the server
  Seconds latency;                  ///< latency_ms, one way
  bool secure_aggregation = false;  ///< Bonawitz et al. 2017
  double speed_spread = 0;          ///< standard deviation of the logarithm of a client's speed
  static const FieldTable<FederatedSpec>& fields();
  bool operator==(const FederatedSpec&) const = default;
};

}  // namespace stepcast
