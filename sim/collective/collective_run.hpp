#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/collectives/collective.hpp"
#include "sim/collective/flow_program.hpp"
#include "sim/collective/network_links.hpp"
#include "sim/collective/program_result.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// One collective of some ranks of a machine.
struct CollectiveJob {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes payload;           ///< as collective_cost takes it
  std::vector<int> ranks;  ///< devices of the fabric in the order of the group; empty: all of them
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  CollectiveProtocol protocol = CollectiveProtocol::automatic;
  Seconds start;  ///< when ranks begin that come in time
  ElementWidth width = ElementWidth::usual;
  /// all_to_all: what the group's first rank receives over the mean; the others share the rest evenly.
  double imbalance = 1;
  /// With the loads of the fabric's levels, which price the collective; null: counted from `ranks`, without loads.
  std::optional<GroupShape> shape;
};

/// What is not as it should be, or not alone.
struct CollectiveConditions {
  /// Ranks come late by an exponentially distributed time of this mean, drawn by (seed, job, rank).
  Seconds jitter;
  struct SlowLink {
    int link = 0;      ///< id in the fabric
    double share = 1;  ///< of its rate that it has left
  };
  std::vector<SlowLink> slow_links;
  struct SlowRank {
    int rank = 0;      ///< device of the fabric
    double speed = 1;  ///< of the others'
  };
  std::vector<SlowRank> slow_ranks;  ///< latencies stretch and its messages slow down alike
  /// A message between two nodes that has nothing to do with any job.
  struct Background {
    int from = 0, to = 0;  ///< devices of the fabric
    Bytes bytes;
    Seconds start;  ///< when it is sent
  };
  std::vector<Background> background;
  struct Failure {
    int link = 0;         ///< id in the fabric
    Seconds time;         ///< from which on nothing crosses it
    bool reroute = true;  ///< traffic takes another way at once; else it is an error
  };
  std::vector<Failure> failures;
  /// Everything is as it should be, and alone.
  [[nodiscard]] bool none() const {
    return jitter <= Seconds(0) && slow_links.empty() && slow_ranks.empty() && background.empty() && failures.empty();
  }
};

/// `folded`: representative ranks, step by step only where something contends. `full`: every rank and every message.
enum class CollectiveFlows : std::uint8_t { folded, full };
template <>
struct EnumNames<CollectiveFlows> {
  static constexpr std::array names{"folded", "full"};
};

/// Peers that a rank sends to at the same time in an exchange of all pairs: NCCL's kernels serve eight to a channel
/// (https://github.com/NVIDIA/nccl/issues/665), inside the node and between nodes apart.
inline constexpr int kPeersInFlight = 8;

/// The machine on which collectives run. `interconnect` prices them; `fabric` says whose messages meet whose.
struct CollectiveSetting {
  Interconnect interconnect;
  BytesPerSecond nic_bandwidth;  ///< raw rate of one NIC, as the fabric's links have it
  int nodes = 1;
  int devices_per_node = 1;
  int peers_in_flight = kPeersInFlight;  ///< 0: all of them
  /// What messages meet is more than the loads of the fabric's levels tell: a run is priced by the links that its
  /// messages are laid on.
  bool laid = false;
  bool hashed = false;  ///< flows take paths by a hash of their ends (ECMP), so that they collide
  /// The network between the nodes, with a seed for its hashes. Not called where arithmetic suffices.
  std::function<NetworkLinks(std::uint64_t seed)> network;
};

struct CollectiveRun {
  CollectiveSetting setting;
  std::vector<CollectiveJob> jobs;
  CollectiveConditions conditions;
  std::uint64_t seed = 1;
  CollectiveFlows flows = CollectiveFlows::folded;
};

/// How one job ended.
struct CollectiveJobResult {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  Seconds start, end;              ///< of the last rank
  std::vector<Seconds> rank_ends;  ///< full only
  /// Where chance decides (hashing, jitter): the range in which 9 of 10 other seeds end.
  std::optional<Seconds> low, high;
  /// From the job's start to the end of its last rank.
  [[nodiscard]] Seconds time() const { return end - start; }
};

struct CollectiveRunResult {
  std::vector<CollectiveJobResult> jobs;
  Seconds end;                        ///< of the last job
  std::vector<ProgramLinkUse> links;  ///< full only: the fabric's links by id, then out and in port of each device
  std::int64_t flows = 0, shared_flows = 0;  ///< messages; of them, those that met others on a link
};

/// Executes a program whose messages meet.
using ProgramRunner = std::function<ProgramResult(const FlowProgram&)>;

/// In a worker process, on SimGrid. Throws EnvironmentError when the worker cannot run here, std::runtime_error when it
/// fails.
ProgramResult run_in_worker(const FlowProgram& program);

/// Runs the collectives. Runs whose messages meet on a link go through `contended`; all others are worked out here.
/// Deterministic by seed. Throws InputError on ranks that the machine does not have and failures that cut one off, and
/// what `contended` throws.
CollectiveRunResult run_collectives(const CollectiveRun& run, const ProgramRunner& contended = run_in_worker);

/// `nodes` one-GPU hosts on one switch, 25 GB/s and 1 µs per direction and link, and nothing else that takes time: the
/// network of ASTRA-sim's published ring all-reduce figures.
CollectiveSetting single_gpu_star(int nodes);

}  // namespace stepcast
