#include "report/peer_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "fields/option_fault.hpp"
#include "fields/plain_text.hpp"
#include "models/collectives/gossip.hpp"

namespace stepcast {

namespace {

/// Ports of peers, whose messages over the fabric are counted one by one.
PeerPorts ports_of(const CollectiveCluster& cluster, const RankPlaces& places, std::optional<HostLibrary> library) {
  if (library) {
    HostNetwork network = placed_host_network(cluster, places, *library);
    network.to_all = network.node;
    PeerPorts out = peer_ports_of(network);
    out.levels = peer_levels(cluster, places);
    return out;
  }
  const PlacedGroup placed = placed_group(cluster, places);
  PeerPorts out = peer_ports_of(placed.interconnect);
  out.hop += placed.interconnect.direct_hops(placed.group);
  out.levels = peer_levels(cluster, places);
  // Up-links lose to headers and flow control what NICs lose.
  if (places.all_nodes() > 1)
    for (PeerPorts::Level& level : out.levels) level.up *= placed.interconnect.nic / cluster.machine.nic_bandwidth;
  return out;
}

/// Edges as two ranks a line, apart by blanks or a comma; `#` starts a comment.
std::vector<std::pair<int, int>> read_edges(const std::string& file) {
  std::ifstream in(file);
  if (!in)
    refuse_option("--graph", fmt::format("found \"{}\", which is neither a kind of graph nor a readable file", file),
                  nearest_choice(file, names_of<GossipGraphKind>()));
  std::vector<std::pair<int, int>> edges;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    std::replace(line.begin(), line.end(), ',', ' ');
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    int from = 0, to = 0, end = 0;
    if (std::sscanf(line.c_str(), " %d %d %n", &from, &to, &end) != 2 || static_cast<std::size_t>(end) != line.size())
      throw InputError({{fmt::format("{}:{}", file, number), "", fmt::format("found \"{}\", expected two ranks", line),
                         "write an edge a line: 0 1"}});
    edges.emplace_back(from, to);
  }
  return edges;
}

/// The kind of graph that a question names; nothing for a file.
std::optional<GossipGraphKind> graph_kind(const CollectiveQuestion& question) {
  if (question.graph.empty()) return GossipGraphKind::ring;
  return parse_enum<GossipGraphKind>(with_dashes(question.graph));
}

/// The graphs of rounds that follow each other.
std::vector<GossipGraph> gossip_rounds(const CollectiveQuestion& question, int ranks) {
  const auto kind = graph_kind(question);
  if (question.degree && kind != GossipGraphKind::random_regular)
    refuse_option("--degree", "is for random-regular graphs", "leave it out, or --graph random-regular");
  if (!kind) return {explicit_graph(ranks, read_edges(question.graph), question.graph)};
  switch (*kind) {
    case GossipGraphKind::ring:
      return {ring_graph(ranks)};
    case GossipGraphKind::torus:
      return {torus_graph(ranks)};
    case GossipGraphKind::exponential:
      return exponential_rounds(ranks);
    case GossipGraphKind::random_regular:
      break;
  }
  return {random_regular_graph(ranks, question.degree.value_or(4), question.seed)};
}

}  // namespace

RowPricer parameter_server_pricer(const CollectiveQuestion& question, const CollectiveCluster& cluster,
                                  const RankPlaces& places, std::optional<HostLibrary> library) {
  const ParameterServers layout = question.server_layout(places.ranks, places.per_node);
  if (layout.placement == ServerPlacement::colocated && question.servers_per_node)
    refuse_option("--servers-per-node", "is for servers apart; colocated ones are dealt to the workers' nodes in turn",
                  "leave it out");
  if (layout.placement == ServerPlacement::apart && layout.servers_per_node > cluster.most_per_node)
    refuse_option("--servers-per-node",
                  fmt::format("found {}, but a node has {}", layout.servers_per_node, cluster.most_per_node),
                  fmt::format("at most {}", cluster.most_per_node));
  const PeerPorts ports = ports_of(cluster, places, library);
  return [=](CollectiveRow& row) {
    const ServerExchange exchange = parameter_server_exchange(row.size, layout, ports);
    row.time = exchange.time;
    row.bus_factor = exchange.busiest_port / row.size;
    row.algorithm = layout.servers == 1 ? "one-server" : fmt::format("{}-servers", layout.servers);
    row.protocol = exchange.server_bound ? "server-bound" : "worker-bound";
  };
}

RowPricer gossip_pricer(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
                        std::optional<HostLibrary> library, std::vector<std::string>& notes) {
  const std::vector<GossipGraph> rounds = gossip_rounds(question, places.ranks);
  if (rounds.size() == 1 && !rounds.front().strongly_connected())
    notes.emplace_back("the graph falls apart: news of some ranks never reaches others");
  const PeerPorts ports = ports_of(cluster, places, library);
  const std::string name{graph_kind(question) ? name_of(*graph_kind(question)) : "graph"};
  const int degree = rounds.front().out_degree();
  return [=](CollectiveRow& row) {
    const GossipRound round = mean_gossip_round(rounds, row.size, places.per_node, ports);
    row.time = round.time;
    row.bus_factor = round.busiest_rank / row.size;
    row.algorithm = name;
    row.protocol = fmt::format("{}-peers", degree);
  };
}

}  // namespace stepcast
