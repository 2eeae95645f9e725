#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware-catalog/parts.hpp"
#include "models/collectives/collective.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Libraries that move host memory between processes, by the rules that they choose by: Open MPI's up to version 4.0,
/// of 4.1 and of 5, those of MPICH 4.
enum class HostLibrary : std::uint8_t { open_mpi_4_0, open_mpi_4_1, open_mpi_5, mpich, gloo };
template <>
struct EnumNames<HostLibrary> {
  static constexpr std::array names{"openmpi-4.0", "openmpi-4.1", "openmpi-5", "mpich", "gloo"};
};

/// What a name means: one of the above, one of a product (Open MPI without a version, a version of it or of MPICH), or
/// a product built on MPICH.
struct NamedHostLibrary {
  HostLibrary rules;
  bool own_rules_unknown = false;  ///< it chooses by rules of its own that are not known; MPICH's stand for them
};
std::optional<NamedHostLibrary> host_library_named(std::string_view name);
/// Of Open MPI without a version: distributions of 2021 to 2025 ship 4.1, and 5 keeps its tables beside its levels.
inline constexpr HostLibrary kDefaultHostLibrary = HostLibrary::open_mpi_4_1;
/// The rules of a version of Open MPI; without a second number those of its newest.
HostLibrary open_mpi_of(int major, std::optional<int> minor);

/// What they do with a buffer. `binomial`, `split_binary` and `pipeline` are trees and a chain, cut in segments where
/// the library cuts; `linear` sends every message at once, `pairwise` one after another; `two_level` goes through one
/// rank of each node.
enum class HostAlgorithm : std::uint8_t {
  recursive_doubling,
  recursive_halving,
  rabenseifner,
  ring,
  reduce_broadcast,
  binomial,
  split_binary,
  pipeline,
  scatter_all_gather,
  scatter_doubling,
  bruck,
  neighbor_exchange,
  linear,
  pairwise,
  two_level,
  point_to_point
};
template <>
struct EnumNames<HostAlgorithm> {
  static constexpr std::array names{"recursive-doubling",
                                    "recursive-halving",
                                    "rabenseifner",
                                    "ring",
                                    "reduce-broadcast",
                                    "binomial",
                                    "split-binary",
                                    "pipeline",
                                    "scatter-all-gather",
                                    "scatter-doubling",
                                    "bruck",
                                    "neighbor-exchange",
                                    "linear",
                                    "pairwise",
                                    "two-level",
                                    "point-to-point"};
};

/// What messages between processes cost. Rates are of one process unless stated; sources in mpi_network.cpp.
struct HostNetwork {
  Seconds latency;         ///< empty message between nodes, one way (half a ping-pong)
  Seconds turnaround;      ///< added in each step of a collective, whose ranks send and receive
  Bytes inline_limit;      ///< up to here data travels in the descriptor
  Seconds copy_start;      ///< once for a longer message
  Bytes eager_limit;       ///< longer messages ask first
  BytesPerSecond eager;    ///< of messages up to that: they are copied on the way
  Seconds rendezvous;      ///< once for each message above
  BytesPerSecond rail;     ///< of messages above, over one NIC
  BytesPerSecond stream;   ///< of messages above, over all NICs that one message uses
  Seconds stripe;          ///< once for a message that is spread over NICs
  BytesPerSecond node;     ///< all NICs of a node together, per direction
  Seconds gap;             ///< between messages of one sender that waits for none
  Seconds local_latency;   ///< step of a collective inside a node
  Seconds local_gap;       ///< gap of messages inside a node
  BytesPerSecond local;    ///< copied inside a node
  BytesPerSecond reduce;   ///< sum of two buffers
  BytesPerSecond to_all;   ///< of `node`, what up-links leave while all pairs exchange (0: all of it)
  BytesPerSecond to_next;  ///< the same while every node sends to the next one
  Seconds node_gap;        ///< between messages of all ranks of a node together (0: not known)
  Bytes caches;            ///< of a node; buffers of its ranks that do not fit go through its memory
  BytesPerSecond memory;   ///< copied by all ranks of a node together beyond `caches` (0: not known)
  [[nodiscard]] BytesPerSecond node_to_all() const { return to_all > BytesPerSecond(0) ? to_all : node; }
  [[nodiscard]] BytesPerSecond node_to_next() const { return to_next > BytesPerSecond(0) ? to_next : node; }
};

/// The host network of a node with `nics` NICs of `nic_bandwidth` each. Gloo sends over TCP on any of them.
HostNetwork host_network_of(NetworkKind kind, BytesPerSecond nic_bandwidth, int nics,
                            HostLibrary library = kDefaultHostLibrary);
/// Adds what `sockets` of these processors give the ranks of a node together for copies.
void share_memory(HostNetwork& network, const Cpu& cpu, int sockets);

/// One call of a collective by `ranks` processes, `ranks_per_node` on each node, filling node after node. `size`
/// follows nccl-tests: the whole buffer (all_gather: gathered; all_to_all: what a rank sends in all; send_recv: the
/// message).
struct HostCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size;
  int ranks = 1;
  int ranks_per_node = 1;
  HostLibrary library = kDefaultHostLibrary;
  std::optional<HostAlgorithm> algorithm;  ///< forced; default: the library's own decision
};

/// What a library decides: the algorithm, and the bytes of a segment (zero: the buffer is not cut).
struct HostChoice {
  HostAlgorithm algorithm = HostAlgorithm::ring;
  Bytes segment;
};

/// The library's own decision. Sources: mpi_rules.cpp.
HostChoice library_choice(const HostCollective& call);

/// The algorithms that a kind of collective can be forced to.
std::vector<HostAlgorithm> algorithms_of(CollectiveKind kind);

struct HostCollectiveTime {
  Seconds time;
  HostAlgorithm algorithm = HostAlgorithm::ring;
};

/// Mean time over the ranks, as the OSU benchmarks print it. Never negative; zero for a single rank.
/// Step counts: Thakur et al. 2005 (docs/models/collectives.md). REQUIRES a forced algorithm to be one of
/// algorithms_of(kind).
HostCollectiveTime host_collective_time(const HostCollective& call, const HostNetwork& network);

}  // namespace stepcast
