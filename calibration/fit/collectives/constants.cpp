#include "calibration/fit/collectives/constants.hpp"

#include <array>

namespace stepcast::fit {

namespace {

/// Writes a member in the unit of its key.
void assign(double& member, double value, double /*unit*/) { member = value; }
template <class Q>
void assign(Q& member, double value, double unit) {
  member = Q(value * unit);
}

constexpr double kMicro = 1e-6;
constexpr double kGiga = 1e9;

class Table {
 public:
  template <class M>
  void link(const std::string& id, const std::string& key, M LinkProfile::*member, double prior, double spread,
            double unit = 1) {
    constants.push_back({id, key, prior, spread, [=](Profiles& p, double v) { assign(p.links[id].*member, v, unit); }});
  }
  template <class M>
  void network(const std::string& id, const std::string& key, M NetworkProfile::*member, double prior, double spread,
               double unit = 1) {
    constants.push_back(
        {id, key, prior, spread, [=](Profiles& p, double v) { assign(p.networks[id].*member, v, unit); }});
  }
  template <class M>
  void library(const std::string& key, M LibraryProfile::*member, double prior, double spread, double unit = 1) {
    constants.push_back({"nccl", key, prior, spread, [=](Profiles& p, double v) {
                           for (auto& [id, profile] : p.libraries) assign(profile.*member, v, unit);
                         }});
  }
  std::vector<Constant> constants;
};

/// Priors of a class of links. Shares of two and four devices: channels that the library opens for them. Start of a
/// kernel and hops are NCCL's own: base of a ring in LL 3.6 µs up to 2.18 and 6.6 later, hop over NVLink 0.47 to 0.6 µs
/// in LL and 3.4 in Simple (src/graph/tuning.cc; docs/sources.md). Of xGMI 48 of a link's 64 GB/s are usable (AMD, ROCm
/// blogs, "Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct MI300X", 2025-03-02); rccl-tests of eight
/// MI300X show 0.70 of the links in one node (315 GB/s) and 0.80 over two (357).
struct LinkPriors {
  const char* id;
  double launch, ll_hop, simple_hop, ring, two, four, eight, eight_spread, peer, peer_rate, nvls, nvls_start;
};
constexpr std::array kLinks{
    LinkPriors{"nvlink-2", 5, 0.60, 3.4, 0.93, 1.00, 1.00, 1, 0, 0.80, 120, 0, 0},
    LinkPriors{"nvlink-3", 5, 0.60, 3.4, 0.90, 0.70, 0.89, 1, 0, 0.75, 165, 0, 0},
    LinkPriors{"nvlink-4", 5, 0.60, 3.4, 0.88, 0.70, 0.93, 1, 0, 0.80, 310, 1.10, 20},
    LinkPriors{"nvlink-5", 5, 0.60, 3.4, 0.95, 0.63, 0.87, 1, 0, 0.70, 320, 0.95, 30},
    LinkPriors{"xgmi", 8, 0.80, 1.5, 0.75, 0.80, 0.90, 1, 0, 0.75, 100, 0, 0},
    LinkPriors{"pcie", 5, 1.20, 2.5, 0.736, 1.00, 0.80, 0.65, 0.3, 0.48, 0, 0, 0},
    LinkPriors{"pcie-oneccl", 12, 0.80, 2.5, 0.616, 0.99, 0.97, 1, 0, 0.64, 0, 0, 0},
};
constexpr double kLaunchSpread = 0.3;

void add_links(Table& t) {
  using P = LinkProfile;
  for (const LinkPriors& l : kLinks) {
    t.link(l.id, "launch_us", &P::launch, l.launch, kLaunchSpread, kMicro);
    t.link(l.id, "ll_hop_us", &P::ll_hop, l.ll_hop, 0.4, kMicro);
    t.link(l.id, "simple_hop_us", &P::simple_hop, l.simple_hop, 0.4, kMicro);
    t.link(l.id, "ring_share", &P::ring_share, l.ring, 0.15);
    // Two devices of a host have its lanes for themselves, and two or four V100 all channels: their share is the
    // ring's, not a constant of its own.
    if (l.two < 1) t.link(l.id, "share_of_two", &P::share_of_two, l.two, 0.15);
    if (l.four < 1) t.link(l.id, "share_of_four", &P::share_of_four, l.four, 0.15);
    if (l.eight_spread > 0) t.link(l.id, "share_of_eight", &P::share_of_eight, l.eight, l.eight_spread);
    t.link(l.id, "ll_share", &P::ll_share, 0.42, 0.25);
    t.link(l.id, "peer_share", &P::peer_share, l.peer, 0.15);
    if (l.peer_rate > 0) t.link(l.id, "peer_rate_GBps", &P::peer_rate, l.peer_rate, 0.15, kGiga);
    t.link(l.id, "peer_start_us", &P::peer_start, 0.3, 0.4, kMicro);
    t.link(l.id, "peer_simple_start_us", &P::peer_simple_start, 5, 0.4, kMicro);
    if (l.nvls > 0) {
      t.link(l.id, "nvls_share", &P::nvls_share, l.nvls, 0.15);
      t.link(l.id, "nvls_start_us", &P::nvls_start, l.nvls_start, 0.4, kMicro);
    }
  }
}

struct NetworkPriors {
  const char* id;
  double wire, wire_spread, start, tree_ll, tree_ll_spread, ring_ll, ring_at_scale, tree_simple, ring_simple, peer,
      peer_at_scale, all_to_all, all_to_all_spread, small_peer, loss;
};
// The wire of InfiniBand and RoCE is known well: 0.97 is what headers leave, and nine tenths of that is what many
// messages side by side reach. Its hops are NCCL's: 5 µs a tree level in LL, 9.6 (up to 2.18) to 14 µs a ring step in
// Simple. Hops at scale: a Slingshot that matches in hardware runs out of entries and falls back to software. Losses: a
// dragonfly's way grows by two to four switches of 0.35 µs where it leaves its group, a tenth to a fifth of a hop.
constexpr std::array kNetworks{
    NetworkPriors{"infiniband", 0.97, 0.008, 1.5, 5, 0.15, 8, 0, 12.5, 10, 3.0, 0, 0.87, 0.04, 0, 0.0225},
    NetworkPriors{"slingshot", 0.84, 0.06, 3, 5.4, 0.4, 10, 30, 25, 20, 7.4, 10, 0.36, 0.2, 2.4, 0.045},
    NetworkPriors{"slingshot-software-match", 0.90, 0.06, 9, 10.7, 0.4, 25, 30, 45, 45, 9.5, 10, 0.37, 0.2, 2.4, 0.045},
    NetworkPriors{"efa", 0.83, 0.06, 26, 16, 0.4, 15, 0, 30, 15, 5, 0, 0.70, 0.2, 0, 0.0225},
    NetworkPriors{"tcpx", 0.52, 0.06, 300, 60, 0.4, 60, 0, 100, 50, 20, 0, 0.60, 0.2, 0, 0.0225},
};

void add_networks(Table& t) {
  using P = NetworkProfile;
  for (const NetworkPriors& n : kNetworks) {
    t.network(n.id, "wire_share", &P::wire_share, n.wire, n.wire_spread);
    t.network(n.id, "start_us", &P::start, n.start, 0.5, kMicro);
    t.network(n.id, "tree_hop_ll_us", &P::tree_hop_ll, n.tree_ll, n.tree_ll_spread, kMicro);
    t.network(n.id, "ring_hop_ll_us", &P::ring_hop_ll, n.ring_ll, 0.5, kMicro);
    if (n.ring_at_scale > 0)
      t.network(n.id, "ring_hop_at_scale_us", &P::ring_hop_at_scale, n.ring_at_scale, 0.15, kMicro);
    t.network(n.id, "tree_hop_simple_us", &P::tree_hop_simple, n.tree_simple, 0.4, kMicro);
    t.network(n.id, "ring_hop_simple_us", &P::ring_hop_simple, n.ring_simple, 0.4, kMicro);
    // NCCL's tables give a tree in LL the wire's rate over 3.8 (docs/sources.md).
    t.network(n.id, "ll_share", &P::ll_share, 0.26, 0.5);
    t.network(n.id, "peer_start_us", &P::peer_start, n.peer, 0.4, kMicro);
    if (n.peer_at_scale > 0)
      t.network(n.id, "peer_start_at_scale_us", &P::peer_start_at_scale, n.peer_at_scale, 0.1, kMicro);
    if (n.small_peer > 0) t.network(n.id, "small_peer_factor", &P::small_peer_factor, n.small_peer, 0.2);
    t.network(n.id, "peer_simple_start_us", &P::peer_simple_start, 10, 0.5, kMicro);
    t.network(n.id, "all_to_all_share", &P::all_to_all_share, n.all_to_all, n.all_to_all_spread);
    t.network(n.id, "loss_per_doubling", &P::loss_per_doubling, n.loss, 0.5);
  }
  // One figure for all: what one message over two channels reaches of a NIC, near what a pair of processes does.
  t.constants.push_back({"infiniband", "send_share", 0.88, 0.06, [](Profiles& p, double v) {
                           for (auto& [id, profile] : p.networks)
                             if (!profile.host_memory) profile.send_share = v;
                         }});
}

void add_library(Table& t) {
  using P = LibraryProfile;
  // A block of 4 KiB over a channel's part of NVLink (10 GB/s) takes 0.4 µs beside a hop of 0.6.
  t.library("fill_ring_ll", &P::fill_ring_ll, 0.7, 0.5);
  // A ring stands idle for one chunk of one hop: 1 if it were cut as finely as is best.
  t.library("fill_ring_simple", &P::fill_ring_simple, 1, 0.7);
  t.library("fill_tree_ll", &P::fill_tree_ll, 0.7, 0.5);
  t.library("fill_tree_simple", &P::fill_tree_simple, 0.5, 0.5);
  t.library("fill_nvls", &P::fill_nvls, 0.3, 0.5);
  t.library("fill_all_to_all", &P::fill_all_to_all, 0.64, 0.5);
  t.library("fill_remote_all_to_all", &P::fill_remote_all_to_all, 0.5, 0.5);
  t.library("tree_share", &P::tree_share, 0.88, 0.1);
  // LL128: 120 of 128 bytes are data; a tree level between nodes takes 8.5 µs where LL takes 5 (docs/sources.md).
  t.library("ll128_wire_share", &P::ll128_wire_share, 0.9375, 0.03);
  t.library("ll128_hop", &P::ll128_hop, 1.36, 0.2);
  t.library("ll128_network_hop", &P::ll128_network_hop, 1.7, 0.2);
  t.library("own_share", &P::own_share, 0.22, 0.3);
  t.library("channel_GBps", &P::channel, 20, 0.06, kGiga);
  t.library("send_growth_us", &P::send_growth, 800, 0.2, kMicro);
  t.library("small_channel_GBps", &P::small_channel, 8, 0.4, kGiga);
  t.library("root_slot_us", &P::root_slot, 1.7, 0.3, kMicro);
  t.library("root_slot_in_node_us", &P::root_slot_in_node, 0.35, 0.3, kMicro);
  t.library("root_hop", &P::root_hop, 0.4, 0.4);
  t.library("chain_fill_us", &P::chain_fill, 30, 0.5, kMicro);
}

}  // namespace

std::vector<Constant> fitted_constants() {
  Table table;
  add_links(table);
  add_networks(table);
  add_library(table);
  return table.constants;
}

Profiles shipped_profiles(const Catalog& catalog) {
  Profiles out;
  for (const std::string& id : catalog.ids("link-profiles")) out.links[id] = *catalog.find<LinkProfile>(id);
  for (const std::string& id : catalog.ids("network-profiles")) out.networks[id] = *catalog.find<NetworkProfile>(id);
  for (const std::string& id : catalog.ids("library-profiles")) out.libraries[id] = *catalog.find<LibraryProfile>(id);
  return out;
}

void apply(const std::vector<Constant>& constants, const std::vector<double>& values, Profiles& profiles) {
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i].set(profiles, values[i]);
}

}  // namespace stepcast::fit
