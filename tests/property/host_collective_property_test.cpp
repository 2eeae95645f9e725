#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "models/collectives/gossip.hpp"
#include "models/collectives/mpi.hpp"
#include "models/collectives/parameter_server.hpp"

namespace stepcast::host_collective_property_test {
namespace {

template <class E>
E any() {
  return static_cast<E>(*rc::gen::inRange<int>(0, static_cast<int>(EnumNames<E>::names.size())));
}

struct Hosts {
  NetworkKind kind;
  BytesPerSecond nic;
  int nics;
  HostLibrary library;
  [[nodiscard]] HostNetwork network(double faster = 1) const {
    return host_network_of(kind, nic * faster, nics, library);
  }
};

Hosts any_hosts() {
  return {any<NetworkKind>(), *rc::gen::inRange(1, 400) * 1_Gbps, *rc::gen::inRange(1, 9), any<HostLibrary>()};
}

HostCollective any_call(HostLibrary library) {
  HostCollective out;
  out.kind = any<CollectiveKind>();
  out.ranks_per_node = *rc::gen::inRange(1, 129);
  out.ranks = out.ranks_per_node * *rc::gen::inRange(1, 300);
  out.size = Bytes(std::floor(std::exp2(*rc::gen::inRange(0, 3500) / 100.0)));
  out.library = library;
  return out;
}

HostAlgorithm any_algorithm(CollectiveKind kind) { return *rc::gen::elementOf(algorithms_of(kind)); }

RC_GTEST_PROP(HostCollective, TimesAreFiniteAndPositive, ()) {
  const Hosts hosts = any_hosts();
  const HostCollective call = any_call(hosts.library);
  const auto priced = host_collective_time(call, hosts.network());
  RC_ASSERT(is_finite(priced.time));
  const bool alone = call.ranks == 1;
  RC_ASSERT(alone == (priced.time == Seconds(0)));
  RC_ASSERT(priced.time >= Seconds(0));
}

RC_GTEST_PROP(HostCollective, TheLibraryTakesWhatCanBeForced, ()) {
  const HostCollective call = any_call(any<HostLibrary>());
  const auto known = algorithms_of(call.kind);
  RC_ASSERT(std::find(known.begin(), known.end(), library_choice(call).algorithm) != known.end());
}

RC_GTEST_PROP(HostCollective, ByOneAlgorithmMoreBytesAreNeverFaster, ()) {
  const Hosts hosts = any_hosts();
  HostCollective call = any_call(hosts.library);
  call.algorithm = any_algorithm(call.kind);
  // Segments follow the library's rules, so a pipeline that it chooses itself may change with the size.
  RC_PRE(library_choice(call).algorithm != *call.algorithm || library_choice(call).segment == Bytes(0));
  const Seconds before = host_collective_time(call, hosts.network()).time;
  call.size = call.size * 2;
  RC_PRE(library_choice(call).algorithm != *call.algorithm || library_choice(call).segment == Bytes(0));
  RC_ASSERT(host_collective_time(call, hosts.network()).time >= before * (1 - 1e-12));
}

RC_GTEST_PROP(HostCollective, FasterNicsAreNeverSlower, ()) {
  const Hosts hosts = any_hosts();
  HostCollective call = any_call(hosts.library);
  call.algorithm = any_algorithm(call.kind);
  RC_ASSERT(host_collective_time(call, hosts.network(2)).time <=
            host_collective_time(call, hosts.network()).time * (1 + 1e-12));
}

PeerPorts any_ports() {
  PeerPorts out;
  out.node = *rc::gen::inRange(1, 400) * 1_GBps;
  out.rank = *rc::gen::inRange(1, 50) * 1_GBps;
  out.native = *rc::gen::inRange(1, 900) * 1_GBps;
  out.hop = *rc::gen::inRange(0, 50) * 1_us;
  out.native_hop = *rc::gen::inRange(0, 10) * 1_us;
  out.gap = *rc::gen::inRange(0, 10) * 0.1_us;
  return out;
}

RC_GTEST_PROP(ParameterServer, NoPortCarriesMoreThanItsRate, ()) {
  ParameterServers layout;
  layout.workers_per_node = *rc::gen::inRange(1, 17);
  layout.workers = layout.workers_per_node * *rc::gen::inRange(1, 40);
  layout.servers = *rc::gen::inRange(1, 100);
  layout.servers_per_node = *rc::gen::inRange(1, 5);
  layout.placement = any<ServerPlacement>();
  const PeerPorts ports = any_ports();
  const auto exchange = parameter_server_exchange(1_GB, layout, ports);
  RC_ASSERT(exchange.time >= exchange.start);
  RC_ASSERT((exchange.time - exchange.start) * ports.node >= exchange.busiest_port * (1 - 1e-9));
  // Twice the bytes take at most twice as long, and latencies do not grow.
  const auto twice = parameter_server_exchange(2_GB, layout, ports);
  RC_ASSERT(std::abs((twice.time - exchange.time).in(exchange.time - exchange.start) - 1) < 1e-9);
}

RC_GTEST_PROP(ParameterServer, ApartMoreServersAreNeverSlowerButForTheirMessages, ()) {
  ParameterServers layout;
  layout.workers_per_node = *rc::gen::inRange(1, 9);
  layout.workers = layout.workers_per_node * *rc::gen::inRange(1, 40);
  layout.servers = *rc::gen::inRange(1, 60);
  const PeerPorts ports = any_ports();
  const auto few = parameter_server_exchange(1_GB, layout, ports);
  layout.servers += *rc::gen::inRange(1, 20);
  const auto more = parameter_server_exchange(1_GB, layout, ports);
  RC_ASSERT(more.time - more.start <= (few.time - few.start) * (1 + 1e-12));
}

RC_GTEST_PROP(Gossip, ShiftingTheRanksOfASymmetricGraphChangesNothing, ()) {
  const int per_node = *rc::gen::inRange(1, 9), nodes = *rc::gen::inRange(1, 20), ranks = per_node * nodes;
  const bool ring = *rc::gen::arbitrary<bool>();
  const GossipGraph graph = ring ? ring_graph(ranks) : exponential_graph(ranks);
  GossipGraph shifted = graph;
  // By whole nodes, so that who shares one with whom stays as it is.
  const int by = per_node * *rc::gen::inRange(0, nodes);
  for (auto& [from, to] : shifted.edges) {
    from = (from + by) % ranks;
    to = (to + by) % ranks;
  }
  const PeerPorts ports = any_ports();
  RC_ASSERT(gossip_round(graph, 1_MB, per_node, ports).time == gossip_round(shifted, 1_MB, per_node, ports).time);
}

RC_GTEST_PROP(Gossip, AnotherEdgeIsNeverFaster, ()) {
  const int ranks = *rc::gen::inRange(5, 40), per_node = *rc::gen::inRange(1, 9);
  GossipGraph graph = ring_graph(ranks);
  const PeerPorts ports = any_ports();
  const Seconds before = gossip_round(graph, 1_MB, per_node, ports).time;
  const int from = *rc::gen::inRange(0, ranks);
  graph.edges.emplace_back(from, (from + *rc::gen::inRange(2, ranks - 1)) % ranks);  // none that the ring has
  RC_ASSERT(gossip_round(graph, 1_MB, per_node, ports).time >= before);
}

}  // namespace
}  // namespace stepcast::host_collective_property_test
