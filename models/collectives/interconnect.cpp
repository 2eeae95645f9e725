#include <algorithm>

#include "models/collectives/link_shares.hpp"
#include "models/collectives/machine.hpp"
#include "models/compute/host_link.hpp"
#include "models/fabric/plan/torus.hpp"

namespace stepcast {

namespace {

// Of the links between two sockets: an estimate, no measurement at hand. all_to_all relative to it is that of NVLink in
// step-time fits (docs/sources.md, prototype fit).
constexpr double kSocketShare = 0.6;
constexpr double kSocketAllToAll = 0.38 / 0.62;

/// What NCCL's search and tuner assume (docs/sources.md, NCCL's tables): GB/s of a link over its raw rate, the LL cap
/// of a GPU, LL128 of all channels, and NVLS of 16 channels with its efficiency.
struct TunerFigures {
  TunerGeneration generation;
  double link, ll, ll128, nvls;
};
constexpr double kNvlsChannels = 16.0 * 15 / 16 * 2;
constexpr std::array kTuner{
    TunerFigures{TunerGeneration::volta, 20.0 / 25, 39.0, 20.0 * 12, 0},
    TunerFigures{TunerGeneration::ampere, 20.0 / 25, 87.7, 20.0 * 24, 0},
    TunerFigures{TunerGeneration::hopper, 20.6 / 25, 141.0, 36.7 * 24, kNvlsChannels * 20 * 0.85},
    TunerFigures{TunerGeneration::blackwell, 40.1 / 50, 282.0, 40.0 * 24, kNvlsChannels * 40 * 0.74},
};

/// What LL gets out of a node between three and more (docs/sources.md, NCCL's tables): its proxies read the flags
/// of every line that they hand to a NIC, so the processors are the limit however many NICs there are. Makers that the
/// tables do not name count as Intel.
constexpr BytesPerSecond kLlOfIntelHost = 20.4_GBps, kLlOfAmdHost = 19_GBps;
constexpr std::string_view kAmd = "AMD";

BytesPerSecond ll_of_host(const CollectiveMachine& machine) {
  return machine.cpu != nullptr && machine.cpu->vendor == kAmd ? kLlOfAmdHost : kLlOfIntelHost;
}

const LinkProfile& links_of(const CollectiveMachine& machine) {
  static const LinkProfile kIdeal;
  return machine.links ? *machine.links : kIdeal;
}
const NetworkProfile& network_of(const CollectiveMachine& machine) {
  static const NetworkProfile kIdeal;
  return machine.network_profile ? *machine.network_profile : kIdeal;
}
const LibraryProfile& library_of(const CollectiveMachine& machine) {
  static const LibraryProfile kIdeal;
  return machine.library ? *machine.library : kIdeal;
}

/// Raw rate of a device's links to its peers, and what kind of links they are.
struct NativeLink {
  BytesPerSecond raw;
  bool pcie = false;
};

NativeLink native_link(const CollectiveMachine& machine) {
  const Node& node = *machine.node;
  const BytesPerSecond linked = node.interconnect.bandwidth_per_accelerator(node.accelerator_count);
  if (linked > BytesPerSecond(0) && node.interconnect.kind != NodeTopology::pcie) return {linked, false};
  return {pcie_link(node, *machine.accelerator), true};
}

/// Of the ring's rate, by how many devices take part.
double channel_share(const LinkProfile& links, std::size_t ranks) {
  return ranks == 2 ? links.share_of_two : ranks <= 4 ? links.share_of_four : links.share_of_eight;
}

BytesPerSecond between_sockets(const CollectiveMachine& machine) {
  return machine.cpu != nullptr ? machine.cpu->between_sockets() : kUnknownSocketLinks;
}

/// What rings over so many devices carry where they must pass through their processors: of PCIe as much as where there
/// is nothing else; of links to the processor, which are of the kind of those between devices and shared with nobody,
/// as much as of these. A ring crosses over PCIe only between groups that links join, so each device of a group takes
/// the crossing of another ring (four H100 in two bridged pairs: 48.8 GB/s, where PCIe alone gives 25; VID-H100P of
/// collectives-singlenode.csv), as far as the links between sockets carry them all.
BytesPerSecond host_ring(const CollectiveMachine& machine, std::size_t ranks) {
  if (coherent_host_link(*machine.node, *machine.accelerator) != nullptr)
    return raw_host_link(*machine.node, *machine.accelerator) * links_of(machine).ring_share;
  static const LinkProfile kIdeal;
  const LinkProfile& host = machine.host_links ? *machine.host_links : kIdeal;
  const BytesPerSecond one =
      pcie_link(*machine.node, *machine.accelerator) * host.ring_share * channel_share(host, ranks);
  const int rings = least_joined(*machine.node, static_cast<int>(ranks));
  return std::max(one, std::min(one * rings, between_sockets(machine)));
}

/// Few devices have few channels, and in a mesh few links: whichever is less. Devices that links do not join meet over
/// their processors.
void set_native_shares(Interconnect& out, const LinkProfile& links, const CollectiveMachine& machine, bool pcie) {
  const bool one_ring = machine.single_ring && joins_devices_directly(*machine.node);
  out.link_share_by_ranks = one_ring ? single_ring_shares(*machine.node, out.host_link / out.native)
                                     : link_shares_of(*machine.node, machine.accelerator);
  bool joined = true;
  for (std::size_t ranks = 2; ranks < out.link_share_by_ranks.size(); ++ranks) {
    double channels = channel_share(links, ranks);
    if (static_cast<int>(ranks) <= std::max(2, machine.node->devices()))
      joined = links_reach_all(*machine.node, static_cast<int>(ranks));
    // A bridge between two devices has few links to begin with.
    if (machine.node->interconnect.kind == NodeTopology::pair) channels = 1;
    if (pcie) out.link_share_by_ranks[ranks] = channels;  // devices of a host share its lanes
    if (one_ring) channels = 1;
    if (!pcie && !one_ring && !joined) {
      out.link_share_by_ranks[ranks] = std::min(1.0, host_ring(machine, ranks) / out.native);
      channels = 1;
    }
    out.native_share_by_ranks[ranks] = std::min(out.link_share_by_ranks[ranks], channels);
  }
}

void set_tuner(TunerTables& tables, const LinkProfile& links, BytesPerSecond raw) {
  for (const TunerFigures& figures : kTuner) {
    if (figures.generation != links.generation) continue;
    tables = {true, figures.link * raw.in(1_GBps), figures.ll, figures.ll128, figures.nvls};
  }
}

bool switched(const Node& node) {
  return node.interconnect.kind == NodeTopology::nvswitch || node.interconnect.kind == NodeTopology::nvswitch_rack;
}

void set_device_links(Interconnect& out, const CollectiveMachine& machine) {
  const LinkProfile& links = links_of(machine);
  const auto [raw, pcie] = native_link(machine);
  out.host_link = host_link_rate(*machine.node, *machine.accelerator, machine.compute);
  out.native = raw * links.ring_share;
  out.torus_share = static_cast<float>(machine.torus_links) /
                    static_cast<float>(std::max(1, machine.node->interconnect.links_per_accelerator));
  out.private_native = !pcie;
  set_native_shares(out, links, machine, pcie);
  out.all_to_all_native_share = links.peer_share / links.ring_share;
  out.peers.peer_rate = pcie ? BytesPerSecond(0) : links.peer_rate;
  if (pcie) return;
  set_tuner(out.tuner, links, raw);
  if (!switched(*machine.node) || links.nvls_share <= 0) {
    out.tuner.nvls = 0;
    return;
  }
  out.switch_sums.rate = raw * links.nvls_share;
  out.switch_sums.start = links.nvls_start;
}

/// Processors: the links between sockets.
void set_host_links(Interconnect& out, const CollectiveMachine& machine) {
  out.native = between_sockets(machine) * kSocketShare;
  out.private_native = false;
  out.host_link = machine.node->memory_bandwidth / std::max(1, machine.node->devices());
  out.all_to_all_native_share = kSocketAllToAll;
}

/// Raw rate between a device and NICs that are no parts of it; 0: none of those, or unknown.
BytesPerSecond way_to_nics(const CollectiveMachine& machine) {
  const auto& nics = machine.node->nics;
  const bool own = std::any_of(nics.begin(), nics.end(), [](const Nic& nic) { return nic.training && nic.on_device; });
  if (machine.accelerator == nullptr || own) return BytesPerSecond(0);
  return raw_host_link(*machine.node, *machine.accelerator);
}

void set_network(Interconnect& out, const CollectiveMachine& machine) {
  const NetworkProfile& network = network_of(machine);
  out.wire_share = network.wire_share;
  out.nic = machine.nic_bandwidth * network.wire_share;
  if (network.nic_ceiling > BytesPerSecond(0)) out.nic = std::min(out.nic, network.nic_ceiling);
  out.nics = machine.nics;
  out.node_network = out.nic * out.nics;
  out.rank_network = out.nic * std::max(1, out.nics / std::max(1, machine.devices_per_node));
  // PCIe loses to headers what NICs lose.
  if (const BytesPerSecond way = way_to_nics(machine); way > BytesPerSecond(0) && out.nic > BytesPerSecond(0))
    out.rank_network = std::min(out.rank_network, way * network.wire_share);
  out.network_launch = network.start;
  out.network_hop = network.ring_hop_ll;
  out.network_hop_at_scale = network.ring_hop_at_scale;
  out.remote_peer_start = network.peer_start;
  out.remote_peer_start_at_scale = network.peer_start_at_scale;
  out.all_to_all_share = std::min(1.0, network.all_to_all_share / network.wire_share);
  out.send_share = network.send_share / network.wire_share;
  out.loss_per_doubling = network.loss_per_doubling;
  out.network_sums = machine.network_sums;
  out.switch_trees = network.nvls_tree;
  out.two_node_tree = network.two_node_tree && switched(*machine.node);
}

void set_protocols(Interconnect& out, const CollectiveMachine& machine) {
  const LinkProfile& links = links_of(machine);
  const NetworkProfile& network = network_of(machine);
  const LibraryProfile& library = library_of(machine);
  SendProtocol& ll = out.small_messages;
  ll = {links.ll_hop, network.ring_hop_ll,  network.tree_hop_ll, links.ll_share, network.ll_share,
        true,         library.fill_ring_ll, library.fill_tree_ll};
  // A library without a profile, and tori whose devices route by themselves, ask nothing of the host.
  if (machine.library != nullptr && machine.network != NetworkKind::ici) ll.node_limit = ll_of_host(machine);
  ll.crosses = network.ll;
  SendProtocol& ll128 = out.middle_messages;
  ll128 = ll;
  ll128.native_hop *= library.ll128_hop;
  ll128.network_hop *= library.ll128_network_hop;
  ll128.tree_hop *= library.ll128_network_hop;
  // Its buffers are sixteen times those of LL, so it is cut as coarsely as Simple; but lines pass on as they come, so a
  // tree waits for one level only, as a ring for one hop.
  ll128.fill_ring = ll128.fill_tree = library.fill_ring_simple;
  ll128.native_share = library.ll128_share;
  ll128.network_share = library.ll128_wire_share;
  ll128.node_limit = {};
  // LL128 needs 128-byte stores that arrive whole, as they do over NVLink alone (docs/sources.md, NCCL's tables).
  ll128.offered = links.generation != TunerGeneration::none;
  // NCCL lets it cross where NICs lie behind the devices' PCIe switches. The Volta machine that was measured (ABCI-V,
  // NCCL 2.8) shows none: with it its calls of 64 KiB to 16 MiB would come out a third too quick.
  ll128.crosses = network.ll128 && links.generation != TunerGeneration::volta;
  out.bulk = {links.simple_hop,         network.ring_hop_simple, network.tree_hop_simple, 1, 1, true,
              library.fill_ring_simple, library.fill_tree_simple};
}

void set_library(Interconnect& out, const CollectiveMachine& machine) {
  const LibraryProfile& library = library_of(machine);
  out.tree_native_share = library.tree_share;
  out.own_share = library.own_share;
  out.wide_factor = library.wide_factor;
  out.switch_sums.fill = library.fill_nvls;
  out.switch_sums.narrow_factor = library.narrow_factor;
  out.root = {library.root_slot, library.root_slot_in_node, library.root_hop, library.chain_fill};
  PeerMessages& peers = out.peers;
  peers.simple_start = links_of(machine).peer_simple_start;
  peers.network_simple_start = network_of(machine).peer_simple_start;
  peers.small_rate = library.small_channel;
  // A torus of ICI links has no library that splits messages over channels.
  if (machine.network != NetworkKind::ici) peers.channel = library.channel;
  peers.channels = library.send_channels;
  peers.growth = library.send_growth;
  peers.fill = library.fill_all_to_all;
  peers.network_fill = library.fill_remote_all_to_all;
  peers.small_factor = network_of(machine).small_peer_factor;
  peers.small_limit = network_of(machine).small_peer_limit;
}

}  // namespace

double Interconnect::native_share(int ranks) const {
  const auto last = native_share_by_ranks.size() - 1;
  return native_share_by_ranks[std::min(static_cast<std::size_t>(std::max(ranks, 0)), last)];
}

double Interconnect::link_share(int ranks) const {
  const auto last = link_share_by_ranks.size() - 1;
  return link_share_by_ranks[std::min(static_cast<std::size_t>(std::max(ranks, 0)), last)];
}

std::int8_t torus_links_of(const CollectiveMachine& machine, const FabricSpec& fabric, int nodes) {
  if (nodes < 2 || !devices_are_routers(fabric, *machine.node, machine.nics)) return 0;
  const TorusPlan torus = torus_plan(fabric, nodes, machine.nics, machine.nic_bandwidth);
  return static_cast<std::int8_t>(torus.fewest_links());
}

CollectiveMachine machine_of(const Scenario& scenario) {
  CollectiveMachine out;
  out.node = scenario.node;
  out.accelerator = scenario.accelerator;
  out.cpu = scenario.cpu;
  out.compute = scenario.compute;
  out.links = scenario.link_profile;
  out.host_links = scenario.host_link_profile;
  out.network_profile = scenario.network_profile;
  out.library = scenario.library_profile;
  out.devices_per_node = scenario.devices_per_node();
  out.nics = scenario.nics_per_node;
  out.nic_bandwidth = scenario.nic_bandwidth;
  out.network = scenario.network;
  out.single_ring = scenario.framework != nullptr && scenario.framework->single_ring;
  const ClusterSpec& cluster = scenario.spec.cluster;
  out.torus_links = torus_links_of(out, cluster.fabric, cluster.nodes);
  out.network_sums = scenario.network_switch != nullptr && scenario.network_switch->sharp;
  return out;
}

CollectiveMachine machine_of(const Node& node, const Catalog& catalog) {
  CollectiveMachine out;
  out.node = &node;
  Diagnostics diagnostics(catalog.file_of("nodes", node.id).string());
  if (!node.cpu.empty()) out.cpu = catalog.find<Cpu>(node.cpu, "/cpu", diagnostics);
  if (node.has_accelerators()) {
    out.accelerator = catalog.find<Accelerator>(node.accelerator, "/accelerator", diagnostics);
    diagnostics.throw_if_faulty();
    out.compute = catalog.find<ComputeProfile>(out.accelerator->family);
  } else {
    diagnostics.throw_if_faulty();
    out.compute = catalog.find<ComputeProfile>("cpu");
  }
  out.devices_per_node = node.devices();
  out.nics = node.training_nics();
  if (out.nics > 0) out.nic_bandwidth = node.training_bandwidth() / out.nics;
  const auto nic = std::find_if(node.nics.begin(), node.nics.end(), [](const Nic& n) { return n.training; });
  out.network = nic != node.nics.end() ? nic->kind : NetworkKind::ethernet_tcp;
  out.links = link_profile_of(node, out.accelerator, catalog);
  out.host_links = host_link_profile_of(node, out.accelerator, catalog);
  out.network_profile = network_profile_of(node, out.network, catalog);
  out.library = library_profile_of(out.accelerator, catalog);
  return out;
}

Interconnect interconnect_of(const Scenario& scenario) { return interconnect_of(machine_of(scenario)); }

Interconnect interconnect_of(const CollectiveMachine& machine) {
  Interconnect out;
  if (machine.node->has_accelerators())
    set_device_links(out, machine);
  else
    set_host_links(out, machine);
  set_network(out, machine);
  set_protocols(out, machine);
  set_library(out, machine);
  const LinkProfile& links = links_of(machine);
  out.launch = machine.launch.value_or(links.launch);
  out.native_hop = links.ll_hop;
  out.peer_start = links.peer_start;
  return out;
}

}  // namespace stepcast
