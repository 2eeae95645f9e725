#include <algorithm>

#include "models/collectives/machine.hpp"

namespace stepcast {

namespace {

/// What a kind of network costs beyond its rate, for device memory (NCCL, RCCL and their kin).
struct NetworkFigures {
  double share;            ///< of the NIC's rate that large collectives reach inside training
  BytesPerSecond ceiling;  ///< of one NIC, whatever its rate (0: none)
  Seconds start;           ///< once for a collective that leaves the node
  Seconds small_ring, small_tree;
  Seconds bulk_ring, bulk_tree;
  Seconds remote_peer;
  double all_to_all_share;
};

// COLLECTIVE-HINTS.md (prototype fit, 2026-11), table "Constants by NIC kind", unless stated. Large-message hops are
// its Simple figures halved, because chunks overlap (same document, section 1). Inside training a wire reaches 0.89
// where the benchmark fit says 0.97 (MODEL-HINTS.md section 3); the other kinds' benchmark shares are scaled alike.
constexpr double kInTraining = 0.89 / 0.97;
// Ring step of large messages: 4.6 µs of MODEL-HINTS.md section 3 (runs on 1,024 GPUs); the benchmark's 1.7 is badly
// determined.
constexpr NetworkFigures kInfiniband{0.97 * kInTraining, 0_Bps, 6.2_us, 2.0_us, 4.2_us, 4.6_us, 16.5_us, 3.0_us, 0.85};
constexpr NetworkFigures kEfa{0.83 * kInTraining, 0_Bps, 26_us, 15_us, 16_us, 15.5_us, 34_us, 5_us, 0.70};
// Geometric mean of the fabric's two matching modes, which a scenario does not tell apart.
constexpr NetworkFigures kSlingshot{0.88 * kInTraining, 0_Bps, 5.3_us, 17.7_us, 7.6_us, 36.6_us, 37_us, 8.4_us, 0.36};
// TCP: goodput 0.94 of the wire (links eth-1 … eth-200); at most 5 GB/s a NIC (COLLECTIVES.md: Polaris over
// sockets 4.7, 100G TCP 5); 20 µs a level (Polaris over sockets, growth per doubling); 37 µs for a large message
// (Google C2D over TCP).
constexpr NetworkFigures kTcp{0.94 * kInTraining, 5_GBps, 6_us, 20_us, 20_us, 37_us, 37_us, 20_us, 0.50};
// TPU inter-chip links: 0.5 µs a hop (links ici-hop); shares as InfiniBand, no measurement at hand.
constexpr NetworkFigures kIci{0.97 * kInTraining, 0_Bps, 0_us, 0.5_us, 0.5_us, 0.5_us, 0.5_us, 0.5_us, 0.85};

// Host memory (MPI, Gloo): COLLECTIVE-HINTS.md, "CPU MPI": α, rendezvous added for large messages. Shares are
// point-to-point rates of COLLECTIVES.md: EDR two rails 0.81, EFA 0.85, TCP one stream at most 3.3 GB/s.
constexpr NetworkFigures kHostInfiniband{0.81, 0_Bps, 0_us, 1.0_us, 1.0_us, 6.0_us, 6.0_us, 1.0_us, 0.81};
constexpr NetworkFigures kHostEfa{0.85, 0_Bps, 0_us, 15.3_us, 15.3_us, 24.3_us, 24.3_us, 15.3_us, 0.85};
constexpr NetworkFigures kHostTcp{0.94, 3.3_GBps, 0_us, 37_us, 37_us, 104_us, 104_us, 37_us, 0.85};

const NetworkFigures& figures_of(NetworkKind kind, bool host) {
  switch (kind) {
    case NetworkKind::efa:
      return host ? kHostEfa : kEfa;
    case NetworkKind::ethernet_tcp:
      return host ? kHostTcp : kTcp;
    case NetworkKind::slingshot:
      return host ? kHostInfiniband : kSlingshot;
    case NetworkKind::ici:
      return kIci;
    // Omni-Path has no collective of its own in the data; MPI latencies are InfiniBand's (links
    // mpi-study-llnl-dane-opa).
    case NetworkKind::omni_path:
    case NetworkKind::infiniband:
    case NetworkKind::ethernet_rdma:
      break;
  }
  return host ? kHostInfiniband : kInfiniband;
}

/// Latencies inside a node by what joins its devices.
struct NativeFigures {
  Seconds launch, small_hop, bulk_hop, peer;
};
// COLLECTIVE-HINTS.md, "Constants by GPU class": geometric means over V100, A100, H100 and B200 (switch and mesh) and
// over PCIe 3 and 4; the launch floor over all six, because it belongs to the host. The large-message hop is halved as
// above.
constexpr NativeFigures kLinked{6.2_us, 0.83_us, 1.37_us, 0.44_us};
constexpr NativeFigures kOverPcie{6.2_us, 0.95_us, 2.6_us, 0.44_us};
// Shared memory: 0.6 µs and 0.2 µs a ring step (same document, "CPU MPI"). No kernel is launched.
constexpr NativeFigures kSharedMemory{0_us, 0.8_us, 0.8_us, 0.6_us};

// Data and flag in one store: 0.37–0.46 of NVLink, 0.09 of the wire (COLLECTIVE-HINTS.md section 1, p and q of LL).
constexpr double kSmallNativeShare = 0.42;
constexpr double kSmallNetworkShare = 0.09;

// Of the native rate, when the compute profile does not say: MODEL-HINTS.md section 3, NVLink all-reduce inside
// training.
constexpr double kNativeShare = 0.62;
// all_to_all inside training 0.38 of NVLink (same place), relative to that.
constexpr double kAllToAllNativeShare = 0.38 / 0.62;
// Pipeline send and receive 0.49 of a NIC (same place), relative to what a collective gets of it.
constexpr double kSendShare = 0.49 / 0.89;
// PCIe: 12.5 of 15.75 and 25.5 of 31.5 GB/s (links pcie3-x16, pcie4-x16).
constexpr double kHostLinkShare = 0.80;
// More devices behind one host bridge share its lanes: COLLECTIVE-HINTS.md, note on PCIe f4 and f8 (a guess, marked
// so).
constexpr double kPcieShareOfFour = 0.6;
constexpr double kPcieShareOfEight = 0.4;
// One UPI link of a two-socket server, per direction (links upi-10.4); boards have one to four.
constexpr BytesPerSecond kSocketLink = 20.8_GBps;

using Shares = decltype(Interconnect::native_share_by_ranks);

void set_pcie_shares(Shares& shares) {
  for (std::size_t ranks = 3; ranks < shares.size(); ++ranks)
    shares[ranks] = ranks <= 4 ? kPcieShareOfFour : kPcieShareOfEight;
}

/// In a mesh a group of p devices has its members' links alone: p − 1 of the N − 1 neighbours.
void set_mesh_shares(Shares& shares, int devices) {
  for (int ranks = 2; ranks < std::min<int>(devices, static_cast<int>(shares.size())); ++ranks)
    shares[static_cast<std::size_t>(ranks)] = (ranks - 1.0) / (devices - 1.0);
}

/// The scarcest member of the first p devices, as ranks are placed: its links to the others over all its links.
void set_listed_link_shares(Shares& shares, const NodeInterconnect& interconnect, int devices) {
  const auto links_inside = [&](int device, int ranks) {
    int sum = 0;
    for (const auto& link : interconnect.links) {
      if (link.size() < 3) continue;
      const int other = link[0] == device ? link[1] : link[1] == device ? link[0] : -1;
      if (other >= 0 && other < ranks) sum += link[2];
    }
    return sum;
  };
  for (int ranks = 2; ranks < std::min<int>(devices, static_cast<int>(shares.size())); ++ranks) {
    double least = 1;
    for (int device = 0; device < ranks; ++device) {
      const int all = links_inside(device, devices);
      if (all > 0) least = std::min(least, static_cast<double>(links_inside(device, ranks)) / all);
    }
    if (least > 0) shares[static_cast<std::size_t>(ranks)] = least;
  }
}

/// A group along one dimension of a torus has that dimension's links alone.
void set_torus_shares(Shares& shares, int devices, int dimensions) {
  for (int ranks = 2; ranks < std::min<int>(devices, static_cast<int>(shares.size())); ++ranks)
    shares[static_cast<std::size_t>(ranks)] = 1.0 / dimensions;
}

void set_native_shares(Shares& shares, const Node& node) {
  const int devices = node.devices();
  switch (node.interconnect.kind) {
    case NodeTopology::mesh:
    case NodeTopology::hybrid_cube_mesh:
      if (node.interconnect.links.empty())
        set_mesh_shares(shares, devices);
      else
        set_listed_link_shares(shares, node.interconnect, devices);
      break;
    case NodeTopology::torus_2d:
      set_torus_shares(shares, devices, 2);
      break;
    case NodeTopology::torus_3d:
      set_torus_shares(shares, devices, 3);
      break;
    case NodeTopology::pair:
    case NodeTopology::nvswitch:
    case NodeTopology::nvswitch_rack:
    case NodeTopology::single:
    case NodeTopology::pcie:
      break;
  }
}

/// Native links of the devices; returns their latencies.
const NativeFigures& set_native(Interconnect& out, const CollectiveMachine& machine) {
  const Node& node = *machine.node;
  const double profile_share = machine.compute ? machine.compute->collective_share : 0;
  const double share = profile_share > 0 ? profile_share : kNativeShare;
  if (!node.has_accelerators()) {
    out.native = kSocketLink * share;
    out.private_native = false;
    out.host_link = node.memory_bandwidth / std::max(1, node.devices());
    return kSharedMemory;
  }
  const double host_share = machine.compute ? machine.compute->host_link_share : 0;
  out.host_link = machine.accelerator->pcie_bandwidth * (host_share > 0 ? host_share : kHostLinkShare);
  const BytesPerSecond linked = node.interconnect.bandwidth_per_accelerator(node.accelerator_count);
  if (linked > BytesPerSecond(0) && node.interconnect.kind != NodeTopology::pcie) {
    out.native = linked * share;
    set_native_shares(out.native_share_by_ranks, node);
    return kLinked;
  }
  out.native = out.host_link * share;
  out.private_native = false;
  set_pcie_shares(out.native_share_by_ranks);
  return kOverPcie;
}

}  // namespace

double Interconnect::native_share(int ranks) const {
  const auto last = native_share_by_ranks.size() - 1;
  return native_share_by_ranks[std::min(static_cast<std::size_t>(std::max(ranks, 0)), last)];
}

CollectiveMachine machine_of(const Scenario& scenario) {
  CollectiveMachine out;
  out.node = scenario.node;
  out.accelerator = scenario.accelerator;
  out.compute = scenario.compute;
  out.devices_per_node = scenario.devices_per_node();
  out.nics = scenario.nics_per_node;
  out.nic_bandwidth = scenario.nic_bandwidth;
  out.network = scenario.network;
  const FabricSpec& fabric = scenario.spec.cluster.fabric;
  out.uplink_oversubscription = fabric.preset == FabricPreset::single_switch ? 1 : fabric.oversubscription;
  out.in_training = true;
  return out;
}

CollectiveMachine machine_of(const Node& node, const Catalog& catalog) {
  CollectiveMachine out;
  out.node = &node;
  if (node.has_accelerators()) {
    Diagnostics diagnostics(catalog.file_of("nodes", node.id).string());
    out.accelerator = catalog.find<Accelerator>(node.accelerator, "/accelerator", diagnostics);
    diagnostics.throw_if_faulty();
    out.compute = catalog.find<ComputeProfile>(out.accelerator->family);
  } else {
    out.compute = catalog.find<ComputeProfile>("cpu");
  }
  out.devices_per_node = node.devices();
  out.nics = node.training_nics();
  if (out.nics > 0) out.nic_bandwidth = node.training_bandwidth() / out.nics;
  for (const Nic& nic : node.nics)
    if (nic.training) {
      out.network = nic.kind;
      break;
    }
  return out;
}

std::optional<std::string> unavailable_reason(CollectiveKind /*kind*/, CollectiveAlgorithm algorithm,
                                              CollectiveProtocol /*protocol*/, const GroupShape& /*group*/,
                                              const CollectiveMachine& /*machine*/) {
  switch (algorithm) {
    case CollectiveAlgorithm::automatic:
    case CollectiveAlgorithm::ring:
    case CollectiveAlgorithm::tree:
    case CollectiveAlgorithm::hierarchical:
    case CollectiveAlgorithm::direct:
      return std::nullopt;
    default:
      return fmt::format("no {} is priced yet", name_of(algorithm));
  }
}

Interconnect interconnect_of(const Scenario& scenario) { return interconnect_of(machine_of(scenario)); }

Interconnect interconnect_of(const CollectiveMachine& machine) {
  Interconnect out;
  const NativeFigures& native = set_native(out, machine);
  const NetworkFigures& network = figures_of(machine.network, !machine.node->has_accelerators());

  out.nic = machine.nic_bandwidth * network.share;
  if (network.ceiling > BytesPerSecond(0)) out.nic = std::min(out.nic, network.ceiling);
  out.nics = machine.nics;
  out.node_network = out.nic * out.nics;
  out.rank_network = out.nic * std::max(1, out.nics / std::max(1, machine.devices_per_node));
  out.uplink_oversubscription = machine.uplink_oversubscription;

  out.launch = native.launch;
  out.network_launch = network.start;
  out.native_hop = native.small_hop;
  out.network_hop = network.small_ring;
  out.small_messages = {native.small_hop, network.small_ring, network.small_tree, kSmallNativeShare,
                        kSmallNetworkShare};
  out.bulk = {native.bulk_hop, network.bulk_ring, network.bulk_tree, 1, 1};
  out.peer_start = native.peer;
  out.remote_peer_start = network.remote_peer;
  out.all_to_all_share = network.all_to_all_share;
  out.all_to_all_native_share = kAllToAllNativeShare;
  out.send_share = kSendShare;
  return out;
}

}  // namespace stepcast
