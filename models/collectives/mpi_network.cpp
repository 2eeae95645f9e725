#include <algorithm>

#include "models/collectives/mpi.hpp"

namespace stepcast {

namespace {

/// HostFigures of a kind of network for messages in host memory, apart from its rate.
struct HostFigures {
  Seconds latency;
  Bytes inline_limit;
  Seconds copy_start;
  Bytes eager_limit;
  BytesPerSecond eager;
  Seconds rendezvous;
  double share;            ///< of a NIC's rate that large messages of one process reach
  double node_share;       ///< that those of many processes reach together
  BytesPerSecond ceiling;  ///< of one process over one NIC; zero: none
  Seconds stripe;
  Seconds gap;
  Seconds node_gap;  ///< between messages of all processes over one NIC; zero: not known
};

// Ping-pong and stream rates of COLLECTIVES (docs/sources.md), OSU latency and bandwidth loops on host memory: latency
// of an empty message; the step that the latency makes where data no longer fits the descriptor and where eager ends;
// slope of the eager part; large messages over the wire; 8-byte messages per second in the bandwidth loop.
// EDR with UCX: 0.87 µs on bare metal, but 1.4 to 1.74 in clouds and on three other machines (links mpi-study-azure-*,
// mpi-study-llnl-lassen-edr, mpi-measured-hbv2-hdr): 1.2 is between; 1.06 → 1.56 at 256 B, 3.2 GB/s up to 8 KiB, two
// rails from 256 KiB on with 22.8 of 25 GB/s. All ranks of a node together send 69 to 83 million messages a second over
// one EDR NIC and 63 to 70 over one of HDR100 (osu_mbw_mr, MPI on processors in docs/sources.md).
constexpr HostFigures kInfiniband{1.2_us, 200_B, 0.45_us, 8_KiB,  3.2_GBps, 2.0_us,
                                  0.92,   0.97,  0_Bps,   4.0_us, 0.18_us,  0.0125_us};
// EFA (SRD): 15.9 µs (16.1 in links mpi-study-aws-efa-cpu and mpi-measured-efa-c5n), 6.6 GB/s up to 64 KiB, then 25 µs
// and 4.4 of 12.5 GB/s; 10.6 with many messages in flight. A linear all_to_all of 512 B to 4 KiB by 36 ranks on each of
// 32 c5n.18xlarge passes 2.8 million messages a second over a NIC (MPI on processors in docs/sources.md).
constexpr HostFigures kEfa{15.9_us, 0_B, 0_us, 65536_B, 6.6_GBps, 25_us, 0.36, 0.85, 0_Bps, 0_us, 1.3_us, 0.36_us};
// TCP in a cloud: 36.3 µs (32.1 and 30.5 in links mpi-study-gcp-tcp-cpu and mpi-measured-tcp-c5n), 0.75 GB/s up to 32
// KiB, then 110 µs and 1.9 GB/s on one connection; goodput 0.94 of the wire (links eth-1 … eth-200).
constexpr HostFigures kTcp{35_us, 0_B, 0_us, 32768_B, 0.75_GBps, 110_us, 0.94, 0.94, 1.9_GBps, 0_us, 9.8_us, 0_us};
// Omni-Path: 1.84 µs (links mpi-study-llnl-dane-opa), the rest as InfiniBand's. Slingshot 11: 1.9 µs, recalled.
constexpr HostFigures kOmniPath{1.84_us, 0_B, 0_us, 8_KiB, 3.2_GBps, 3.0_us, 0.92, 0.95, 0_Bps, 0_us, 0.3_us, 0_us};
constexpr HostFigures kSlingshot{1.9_us, 192_B, 0.45_us, 8_KiB,  3.2_GBps, 3.0_us,
                                 0.92,   0.95,  0_Bps,   4.0_us, 0.3_us,   0_us};

const HostFigures& figures_of(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::efa:
      return kEfa;
    case NetworkKind::ethernet_tcp:
      return kTcp;
    case NetworkKind::omni_path:
      return kOmniPath;
    case NetworkKind::slingshot:
      return kSlingshot;
    // RoCE adapters are InfiniBand adapters on another wire; TPU hosts have no figures of their own.
    case NetworkKind::ethernet_rdma:
    case NetworkKind::ici:
    case NetworkKind::infiniband:
      break;
  }
  return kInfiniband;
}

// UCX spreads one message over two NICs by default (UCX_MAX_RNDV_RAILS).
constexpr int kRails = 2;

// A step waits for its receive before the next send: what a recursive-doubling step between nodes takes beyond half a
// ping-pong (ABCI-V all_reduce 8 B: 1.64 µs a doubling, collectives-cpu.csv).
constexpr Seconds kTurnaround = 0.4_us;

// Shared memory with Open MPI: one-node all_reduce of ABCI-V (two Xeon Gold 6148) takes 0.8 µs + 0.52 ns/B a step,
// with a sum in each step or in every other one alike, and its large broadcasts 0.48 ns/B.
constexpr Seconds kSharedMemoryStep = 0.8_us;
constexpr Seconds kSharedMemoryGap = 0.2_us;
constexpr BytesPerSecond kSharedMemoryCopy = 2.1_GBps;
constexpr BytesPerSecond kSum = 16_GBps;

// A step moves a byte six times: its source, the shared segment in and out, and its destination, of which lines that
// are written are read before. Streams reach three quarters of the memory's nominal rate, so copies an eighth.
// All_gathers and all_reduces of 16 MiB and more by full nodes of seven machines copy 0.07 to 0.2 of it, 0.127 in the
// geometric mean (MPI on processors in docs/sources.md).
constexpr double kCopiesOfMemory = 0.75 / 6;
// Of L2 and L3 a core has 2.25 MB on Broadwell, 2.4 on Skylake and Cascade Lake, 4 to 4.5 on EPYC since Zen 2.
constexpr Bytes kCacheOfCore = 2.4_MB;
constexpr Bytes kCacheOfEpycCore = 4.25_MB;

// Gloo moves everything by TCP, inside a node through the loopback device: half of what a cloud network takes, for
// there is no wire and one interrupt less. Estimated; no table of Gloo with sizes was found.
constexpr Seconds kLoopbackStep = 18_us;

}  // namespace

HostNetwork host_network_of(NetworkKind kind, BytesPerSecond nic_bandwidth, int nics, HostLibrary library) {
  const bool tcp_only = library == HostLibrary::gloo;
  const HostFigures& figures = tcp_only ? kTcp : figures_of(kind);
  HostNetwork out;
  out.latency = figures.latency;
  out.turnaround = kTurnaround;
  out.inline_limit = figures.inline_limit;
  out.copy_start = figures.copy_start;
  out.eager_limit = figures.eager_limit;
  out.rendezvous = figures.rendezvous;
  out.rail = nic_bandwidth * figures.share;
  if (figures.ceiling > BytesPerSecond(0)) out.rail = std::min(out.rail, figures.ceiling);
  out.eager = std::min(figures.eager, nic_bandwidth * figures.node_share);
  const bool stripes = figures.stripe > Seconds(0);
  out.stream = out.rail * (stripes ? std::clamp(nics, 1, kRails) : 1);
  out.stripe = figures.stripe;
  out.node = nic_bandwidth * nics * figures.node_share;
  out.gap = figures.gap;
  out.node_gap = figures.node_gap / std::max(1, nics);
  out.local_latency = tcp_only ? kLoopbackStep : kSharedMemoryStep;
  out.local_gap = tcp_only ? figures.gap : kSharedMemoryGap;
  out.local = tcp_only ? kTcp.ceiling : kSharedMemoryCopy;
  out.reduce = kSum;
  return out;
}

void share_memory(HostNetwork& network, const Cpu& cpu, int sockets) {
  network.caches = (cpu.vendor == "AMD" ? kCacheOfEpycCore : kCacheOfCore) * cpu.cores * sockets;
  network.memory = cpu.memory_bandwidth * kCopiesOfMemory * sockets;
}

}  // namespace stepcast
