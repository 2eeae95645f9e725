#include "calibration/fit/cluster/cluster_model.hpp"

#include <algorithm>

namespace stepcast {

namespace {

constexpr double kMicro = 1e-6;
constexpr double kGiga = 1e9;

void assign(double& member, double value, double /*unit*/) { member = value; }
template <class Q>
void assign(Q& member, double value, double unit) {
  member = Q(value * unit);
}
double amount(double member, double /*unit*/) { return member; }
template <class Q>
double amount(const Q& member, double unit) {
  return member.value() / unit;
}

// Spreads of the logarithm: how far the machines of COLLECTIVES (docs/sources.md) lie from their kind (starts and hops
// by factors of 1.5 to 2, shares by 10 to 20 %).
constexpr double kLatency = 0.6;
constexpr double kShare = 0.2;
constexpr double kCut = 0.4;  // of what libraries do to messages

class Constants {
 public:
  explicit Constants(const ClusterModel& model) : model_(model) {}

  template <class Profile, class M>
  void add(const std::string& id, Profile ClusterModel::*profile, const std::string& key, M Profile::*member,
           double spread, double unit = 1, double most = 0, bool grows = false) {
    const double prior = amount((model_.*profile).*member, unit);
    if (prior <= 0) return;
    found.push_back({id, key, prior, spread, most,
                     [=](ClusterModel& m, double value) { assign((m.*profile).*member, value, unit); }, grows});
  }
  std::vector<ClusterConstant> found;

 private:
  const ClusterModel& model_;
};

bool any(const std::vector<ClusterRow>& rows, const auto& what) { return std::any_of(rows.begin(), rows.end(), what); }

void add_links(Constants& c, const ClusterModel& model, const std::vector<ClusterRow>& rows) {
  using P = LinkProfile;
  const std::string id = "link-profiles/" + model.links.id;
  const auto link = [&](const char* key, auto member, double spread, double unit = 1, double most = 0) {
    c.add(id, &ClusterModel::links, key, member, spread, unit, most);
  };
  link("launch_us", &P::launch, kLatency, kMicro);
  link("ll_hop_us", &P::ll_hop, kLatency, kMicro);
  link("simple_hop_us", &P::simple_hop, kLatency, kMicro);
  link("ring_share", &P::ring_share, kShare, 1, 1.2);
  link("ll_share", &P::ll_share, kCut);
  const auto few = [&](int least, int most) {
    return any(rows, [=](const ClusterRow& r) { return r.place.per_node >= least && r.place.per_node <= most; });
  };
  if (few(2, 2)) link("share_of_two", &P::share_of_two, kShare);
  if (few(3, 4)) link("share_of_four", &P::share_of_four, kShare);
  if (any(rows, [](const ClusterRow& r) { return r.kind == CollectiveKind::all_to_all; })) {
    link("peer_share", &P::peer_share, kShare, 1, 1.2);
    link("peer_start_us", &P::peer_start, kLatency, kMicro);
    link("peer_simple_start_us", &P::peer_simple_start, kLatency, kMicro);
  }
  if (model.links.nvls_share > 0) {
    link("nvls_share", &P::nvls_share, kShare, 1, 1.5);
    link("nvls_start_us", &P::nvls_start, kLatency, kMicro);
  }
}

void add_network(Constants& c, const ClusterModel& model, const std::vector<ClusterRow>& rows) {
  using P = NetworkProfile;
  const std::string id = "network-profiles/" + model.network.id;
  const auto network = [&](const char* key, auto member, double spread, double unit = 1, double most = 0,
                           bool grows = false) {
    c.add(id, &ClusterModel::network, key, member, spread, unit, most, grows);
  };
  network("wire_share", &P::wire_share, kShare, 1, 1.2);
  network("start_us", &P::start, kLatency, kMicro);
  network("tree_hop_ll_us", &P::tree_hop_ll, kLatency, kMicro, 0, true);
  network("tree_hop_simple_us", &P::tree_hop_simple, kLatency, kMicro, 0, true);
  network("ring_hop_ll_us", &P::ring_hop_ll, kLatency, kMicro, 0, true);
  network("ring_hop_simple_us", &P::ring_hop_simple, kLatency, kMicro, 0, true);
  network("ring_hop_at_scale_us", &P::ring_hop_at_scale, kCut, kMicro, 0, true);
  network("ll_share", &P::ll_share, kCut);
  network("loss_per_doubling", &P::loss_per_doubling, kCut, 1, 0, true);
  if (any(rows, [](const ClusterRow& r) { return r.kind == CollectiveKind::all_to_all; })) {
    network("peer_start_us", &P::peer_start, kLatency, kMicro, 0, true);
    network("peer_start_at_scale_us", &P::peer_start_at_scale, kCut, kMicro, 0, true);
    network("peer_simple_start_us", &P::peer_simple_start, kLatency, kMicro);
    network("all_to_all_share", &P::all_to_all_share, kShare, 1, 1.2);
  }
  if (any(rows, [](const ClusterRow& r) { return r.kind == CollectiveKind::send_recv; }))
    network("send_share", &P::send_share, kShare, 1, 1.2);
}

void add_library(Constants& c, const ClusterModel& model, bool inside) {
  using P = LibraryProfile;
  const std::string id = "library-profiles/" + model.library.id;
  const auto library = [&](const char* key, auto member) { c.add(id, &ClusterModel::library, key, member, kCut); };
  library("fill_ring_ll", &P::fill_ring_ll);
  library("fill_ring_simple", &P::fill_ring_simple);
  library("fill_tree_ll", &P::fill_tree_ll);
  library("fill_tree_simple", &P::fill_tree_simple);
  if (inside) library("fill_nvls", &P::fill_nvls);
  library("ll128_wire_share", &P::ll128_wire_share);
  library("ll128_network_hop", &P::ll128_network_hop);
}

template <class M>
void add_host(std::vector<ClusterConstant>& out, const HostNetwork& host, const std::string& id, const char* key,
              M HostNetwork::*member, double spread, double unit, bool grows = false) {
  const double prior = (host.*member).value() / unit;
  if (prior <= 0) return;
  out.push_back({id, std::string("calibration.host.") + key, prior, spread, 0,
                 [=](ClusterModel& m, double value) { (*m.host).*member = M(value * unit); }, grows});
}

/// Networks of processes differ more than their kinds do: a cloud's TCP from a lab's by factors.
constexpr double kHostLatency = 1.0;
constexpr double kHostRate = 0.8;

std::vector<ClusterConstant> host_constants(const ClusterModel& model, const std::vector<ClusterRow>& rows) {
  using H = HostNetwork;
  std::vector<ClusterConstant> out;
  const HostNetwork& host = *model.host;
  const std::string id = "network-profiles/" + model.network.id;
  const bool across = any(rows, [](const ClusterRow& r) { return r.nodes() > 1; });
  const bool inside = any(rows, [](const ClusterRow& r) { return r.nodes() == 1; });
  if (across) {
    add_host(out, host, id, "latency_us", &H::latency, kHostLatency, kMicro);
    add_host(out, host, id, "turnaround_us", &H::turnaround, kHostLatency, kMicro, true);
    add_host(out, host, id, "copy_start_us", &H::copy_start, kHostLatency, kMicro);
    add_host(out, host, id, "eager_GBps", &H::eager, kHostRate, kGiga);
    add_host(out, host, id, "rendezvous_us", &H::rendezvous, kHostLatency, kMicro);
    add_host(out, host, id, "node_GBps", &H::node, kHostRate, kGiga);
    add_host(out, host, id, "gap_us", &H::gap, kHostLatency, kMicro);
    // One stream is as many rails as before: the two are told apart by machines with several NICs alone.
    const double rail = host.rail.value() / kGiga, stream = host.stream / host.rail;
    out.push_back({id, "calibration.host.rail_GBps", rail, kHostRate, 0,
                   [stream](ClusterModel& m, double value) {
                     m.host->rail = BytesPerSecond(value * kGiga);
                     m.host->stream = m.host->rail * stream;
                   },
                   false});
  }
  if (inside) {
    add_host(out, host, id, "local_latency_us", &H::local_latency, kHostLatency, kMicro);
    add_host(out, host, id, "local_gap_us", &H::local_gap, kHostLatency, kMicro);
    add_host(out, host, id, "local_GBps", &H::local, kHostRate, kGiga);
  }
  add_host(out, host, id, "reduce_GBps", &H::reduce, kHostRate, kGiga);
  return out;
}

}  // namespace

ClusterModel cluster_model(const CollectiveMachine& machine, std::optional<HostLibrary> library) {
  ClusterModel out;
  out.machine = machine;
  out.links = *machine.links;
  if (machine.network_profile != nullptr) out.network = *machine.network_profile;
  out.library = *machine.library;
  if (library) {
    out.host_library = *library;
    out.host = host_network_of(machine.network, machine.nic_bandwidth, machine.nics, *library);
  }
  return out;
}

ModelTime ClusterModel::time_of(CollectiveKind kind, ElementWidth width) const {
  if (host)
    return [kind, network_costs = *host, library_name = host_library](const CollectivePlace& place) {
      return host_collective_time({kind, place.size, place.ranks, place.per_node, library_name, std::nullopt},
                                  network_costs)
          .time;
    };
  CollectiveMachine own = machine;
  own.links = &links;
  own.network_profile = &network;
  own.library = &library;
  return [kind, width, net = interconnect_of(own)](const CollectivePlace& place) {
    const GroupShape group{place.ranks, place.per_node, 1, {}};
    return collective_cost(kind, place.size, group, net, CollectiveAlgorithm::automatic, CollectiveProtocol::automatic,
                           width)
        .alone(net, group);
  };
}

void ClusterModel::predict(const std::vector<ClusterRow>& rows, std::vector<double>& times) const {
  times.resize(rows.size());
  Interconnect net;
  if (!host) {
    CollectiveMachine own = machine;
    own.links = &links;
    own.network_profile = &network;
    own.library = &library;
    net = interconnect_of(own);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ClusterRow& row = rows[i];
    if (host) {
      times[i] = host_collective_time(
                     {row.kind, row.place.size, row.place.ranks, row.place.per_node, host_library, std::nullopt}, *host)
                     .time.in(1_us);
      continue;
    }
    const GroupShape group{row.place.ranks, row.place.per_node, 1, {}};
    times[i] = collective_cost(row.kind, row.place.size, group, net, row.algorithm, row.protocol, row.width)
                   .alone(net, group)
                   .in(1_us);
  }
}

std::vector<ClusterConstant> cluster_constants(const ClusterModel& model, const std::vector<ClusterRow>& rows) {
  if (model.host) return host_constants(model, rows);
  Constants c(model);
  // Times between nodes hold those inside of each, but do not tell them apart: a slow network would become slow links.
  const bool inside = any(rows, [](const ClusterRow& r) { return r.nodes() == 1; });
  if (inside) add_links(c, model, rows);
  if (any(rows, [](const ClusterRow& r) { return r.nodes() > 1; })) add_network(c, model, rows);
  add_library(c, model, inside);
  return std::move(c.found);
}

}  // namespace stepcast
