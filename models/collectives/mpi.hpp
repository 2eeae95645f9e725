#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "hardware-catalog/parts.hpp"
#include "models/collectives/collective.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Libraries that move host memory between processes.
enum class HostLibrary : std::uint8_t { open_mpi, gloo };
template <>
struct EnumNames<HostLibrary> {
  static constexpr std::array names{"openmpi", "gloo"};
};

/// What they do with a buffer. `binomial`, `split_binary` and `pipeline` are trees and a chain cut in segments;
/// `linear` sends every message at once, `pairwise` one after another.
enum class HostAlgorithm : std::uint8_t {
  recursive_doubling,
  ring,
  rabenseifner,
  ring_chunked,
  halving_doubling,
  binomial,
  split_binary,
  pipeline,
  bruck,
  neighbor_exchange,
  recursive_halving,
  linear,
  pairwise,
  point_to_point
};
template <>
struct EnumNames<HostAlgorithm> {
  static constexpr std::array names{
      "recursive-doubling", "ring",         "rabenseifner", "ring-chunked",  "halving-doubling",
      "binomial",           "split-binary", "pipeline",     "bruck",         "neighbor-exchange",
      "recursive-halving",  "linear",       "pairwise",     "point-to-point"};
};

/// What messages between processes cost. Rates are of one process unless stated; sources in mpi_network.cpp.
struct HostNetwork {
  Seconds latency;        ///< empty message between nodes, one way (half a ping-pong)
  Seconds turnaround;     ///< added by each step of a collective: the receive that a rank waits for, and its send
  Bytes eager_limit;      ///< longer messages ask first
  BytesPerSecond eager;   ///< of messages up to the limit: they are copied on the way
  Seconds rendezvous;     ///< once for each message above the limit
  BytesPerSecond stream;  ///< of messages above the limit
  BytesPerSecond node;    ///< all NICs of a node together, per direction
  Seconds local_latency;  ///< step of a collective inside a node, by shared memory
  BytesPerSecond local;   ///< copied through shared memory
  BytesPerSecond reduce;  ///< sum of two buffers
};

/// The host network of a node with `nics` NICs of `nic_bandwidth` each.
HostNetwork host_network_of(NetworkKind kind, BytesPerSecond nic_bandwidth, int nics);

/// One call of a collective by `ranks` processes, `ranks_per_node` on each node. `size` follows nccl-tests: the whole
/// buffer (all_gather: gathered; all_to_all: what a rank sends in all; send_recv: the message).
struct HostCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size;
  int ranks = 1;
  int ranks_per_node = 1;
  HostLibrary library = HostLibrary::open_mpi;
  std::optional<HostAlgorithm> algorithm;  ///< forced; default: the library's own decision
};

struct HostCollectiveTime {
  Seconds time;
  HostAlgorithm algorithm = HostAlgorithm::ring;
};

/// Whether a library has the algorithm for this kind of collective.
bool has_algorithm(HostLibrary library, CollectiveKind kind, HostAlgorithm algorithm);

/// Mean time over the ranks, as the OSU benchmarks print it, with the library's own choice of algorithm.
/// Sources: Open MPI 4.0 coll/tuned fixed decisions; Gloo's collectives; Thakur et al. 2005 for the step counts
/// (docs/models/collectives.md). REQUIRES a forced algorithm to satisfy has_algorithm.
HostCollectiveTime host_collective_time(const HostCollective& call, const HostNetwork& network);

/// The time alone.
Seconds mpi_time(CollectiveKind kind, Bytes size, int ranks, int ranks_per_node, const HostNetwork& network,
                 HostLibrary library = HostLibrary::open_mpi);

}  // namespace stepcast
