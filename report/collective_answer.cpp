#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "models/collectives/gossip.hpp"
#include "report/collective_cluster.hpp"
#include "report/collective_question.hpp"

namespace stepcast {

namespace {

[[noreturn]] void fail(std::string option, std::string message, std::string hint) {
  throw InputError({{std::move(option), "", std::move(message), std::move(hint)}});
}

/// Names of choices are the same with either dash.
std::string spelt(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::string hint = did_you_mean(name, candidates);
  return hint.empty() ? expected_one_of(candidates) : hint;
}

template <class E>
E choice(const char* option, const std::string& name) {
  if (name.empty()) return E{};
  const auto value = parse_enum<E>(spelt(name));
  if (!value) fail(option, fmt::format("found \"{}\"", name), nearest(spelt(name), names_of<E>()));
  return *value;
}

bool is_collective(ExchangeKind kind) { return kind <= ExchangeKind::barrier; }
/// The first kinds are those of CollectiveKind, in its order.
CollectiveKind collective_of(ExchangeKind kind) { return static_cast<CollectiveKind>(kind); }

constexpr std::string_view kNccl = "nccl";
constexpr std::string_view kRaw = "alpha-beta";

/// Library by name; nothing for the one of the accelerators.
std::optional<HostLibrary> library_of(const CollectiveQuestion& question, const CollectiveCluster& cluster) {
  std::vector<std::string> known = names_of<HostLibrary>();
  known.insert(known.begin(), std::string(kNccl));
  if (cluster.raw) {
    if (!question.library.empty())
      fail("--library", fmt::format("found \"{}\", but raw hosts run the bare algorithm", question.library),
           "leave it out, or name a node");
    return std::nullopt;
  }
  if (question.library.empty()) return cluster.has_accelerators() ? std::nullopt : std::optional(HostLibrary::open_mpi);
  const std::string name = spelt(question.library);
  if (name == kNccl) {
    if (!cluster.has_accelerators())
      fail("--library", fmt::format("{} has no accelerators for nccl", cluster.name), "openmpi or gloo");
    return std::nullopt;
  }
  const auto library = parse_enum<HostLibrary>(name);
  if (!library) fail("--library", fmt::format("found \"{}\"", question.library), nearest(name, known));
  return library;
}

std::string protocol_name(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::ll:
      return "LL";
    case CollectiveProtocol::ll128:
      return "LL128";
    default:
      return "Simple";
  }
}

/// Fills one row; the size is there already.
using Pricer = std::function<void(CollectiveRow&)>;

/// The library of the accelerators, or the bare algorithm of raw hosts.
Pricer folded_collective(const CollectiveQuestion& question, const CollectiveCluster& cluster,
                         const RankPlaces& places) {
  const CollectiveKind kind = collective_of(question.op);
  const auto algorithm = choice<CollectiveAlgorithm>("--algorithm", question.algorithm);
  const auto protocol = choice<CollectiveProtocol>("--protocol", question.protocol);
  const PlacedGroup placed = placed_group(cluster, places);
  if (!cluster.raw) {
    const auto reason = unavailable_reason(kind, algorithm, protocol, placed.group, cluster.machine);
    if (reason)
      fail(algorithm == CollectiveAlgorithm::automatic ? "--protocol" : "--algorithm",
           fmt::format("{} by {}: {}", name_of(kind), name_of(algorithm), *reason), "leave it to the library: auto");
  }
  return [=, raw = cluster.raw](CollectiveRow& row) {
    // A barrier sums one element that nobody reads.
    const Bytes payload = row.size > Bytes(0) ? row.size : 4_B;
    const CollectivePlan plan = collective_plan(kind, payload, placed.group, placed.interconnect, algorithm, protocol);
    row.time = plan.cost.alone(placed.interconnect, placed.group);
    row.algorithm = name_of(plan.cost.algorithm);
    row.protocol = raw ? "-" : protocol_name(plan.cost.protocol);
  };
}

/// Processes with host memory.
Pricer host_collective(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
                       HostLibrary library) {
  HostCollective call{collective_of(question.op), {}, places.ranks, places.per_node, library, std::nullopt};
  if (!question.protocol.empty() && question.protocol != "auto")
    fail("--protocol",
         fmt::format("found \"{}\", but {} has no protocols to choose", question.protocol, name_of(library)),
         "leave it out");
  const std::string name = spelt(question.algorithm);
  if (!name.empty() && name != "auto") {
    std::vector<std::string> known{"auto"};
    for (const HostAlgorithm algorithm : algorithms_of(call.kind)) {
      known.emplace_back(name_of(algorithm));
      if (name == known.back()) call.algorithm = algorithm;
    }
    if (!call.algorithm)
      fail("--algorithm",
           fmt::format("found \"{}\" for {} by {}", question.algorithm, name_of(call.kind), name_of(library)),
           nearest(name, known));
  }
  const HostNetwork network = placed_host_network(cluster, places, library);
  return [=](CollectiveRow& row) mutable {
    call.size = row.size;
    const HostCollectiveTime priced = host_collective_time(call, network);
    row.time = priced.time;
    row.algorithm = name_of(priced.algorithm);
    row.protocol = "-";
  };
}

PeerPorts peer_ports(const CollectiveCluster& cluster, const RankPlaces& places, std::optional<HostLibrary> library) {
  if (library) return peer_ports_of(placed_host_network(cluster, places, *library));
  const PlacedGroup placed = placed_group(cluster, places);
  PeerPorts out = peer_ports_of(placed.interconnect);
  out.node = std::min(out.node, placed.interconnect.network_rate(placed.group, true) * places.per_node);
  return out;
}

Pricer parameter_servers(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
                         std::optional<HostLibrary> library) {
  ParameterServers layout{places.ranks, places.per_node, question.servers, question.servers_per_node,
                          question.server_placement};
  if (layout.placement == ServerPlacement::apart && layout.servers_per_node > cluster.most_per_node)
    fail("--servers-per-node",
         fmt::format("found {}, but a node has {}", layout.servers_per_node, cluster.most_per_node),
         fmt::format("at most {}", cluster.most_per_node));
  const PeerPorts ports = peer_ports(cluster, places, library);
  return [=](CollectiveRow& row) {
    const ServerExchange exchange = parameter_server_exchange(row.size, layout, ports);
    row.time = exchange.time;
    row.bus_factor = exchange.busiest_node / row.size;
    row.algorithm = layout.servers == 1 ? "one-server" : fmt::format("{}-servers", layout.servers);
    row.protocol = exchange.server_bound ? "server-bound" : "worker-bound";
  };
}

/// Edges as two ranks a line, apart by blanks or a comma; `#` starts a comment.
std::vector<std::pair<int, int>> read_edges(const std::string& file) {
  std::ifstream in(file);
  if (!in)
    fail("--graph", fmt::format("found \"{}\", which is neither a kind of graph nor a readable file", file),
         nearest(file, names_of<GossipGraphKind>()));
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

GossipGraph gossip_graph(const CollectiveQuestion& question, int ranks) {
  const auto kind = parse_enum<GossipGraphKind>(spelt(question.graph));
  if (!kind) return explicit_graph(ranks, read_edges(question.graph), question.graph);
  switch (*kind) {
    case GossipGraphKind::ring:
      return ring_graph(ranks);
    case GossipGraphKind::torus:
      return torus_graph(ranks);
    case GossipGraphKind::exponential:
      return exponential_graph(ranks);
    case GossipGraphKind::random_regular:
      break;
  }
  return random_regular_graph(ranks, question.degree, question.seed);
}

Pricer gossip(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
              std::optional<HostLibrary> library, std::vector<std::string>& notes) {
  const GossipGraph graph = gossip_graph(question, places.ranks);
  if (!graph.strongly_connected()) notes.push_back("the graph falls apart: news of some ranks never reaches others");
  const PeerPorts ports = peer_ports(cluster, places, library);
  const std::string name = spelt(question.graph);
  const int degree = graph.out_degree();
  return [=](CollectiveRow& row) {
    const GossipRound round = gossip_round(graph, row.size, places.per_node, ports);
    row.time = round.time;
    row.bus_factor = round.busiest_rank / row.size;
    row.algorithm = parse_enum<GossipGraphKind>(name) ? name : "graph";
    row.protocol = fmt::format("{}-peers", degree);
  };
}

/// Options of other exchanges than the one asked for would be ignored, so they are faults.
void check_options(const CollectiveQuestion& question) {
  if (is_collective(question.op)) return;
  for (const auto& [option, value] : {std::pair{"--algorithm", question.algorithm}, {"--protocol", question.protocol}})
    if (!value.empty() && value != "auto")
      fail(option, fmt::format("{} has none to choose", name_of(question.op)), "leave it out");
  if (question.full) fail("--flows", fmt::format("{} is worked out, not simulated", name_of(question.op)), "folded");
}

Pricer pricer(const CollectiveQuestion& question, const CollectiveCluster& cluster, const RankPlaces& places,
              std::optional<HostLibrary> library, std::vector<std::string>& notes) {
  switch (question.op) {
    case ExchangeKind::parameter_server_push:
    case ExchangeKind::parameter_server_pull:
      return parameter_servers(question, cluster, places, library);
    case ExchangeKind::gossip:
      return gossip(question, cluster, places, library, notes);
    default:
      break;
  }
  if (library) return host_collective(question, cluster, places, *library);
  return folded_collective(question, cluster, places);
}

CollectiveTable empty_table(const CollectiveQuestion& question, const CollectiveCluster& cluster,
                            const RankPlaces& places, std::optional<HostLibrary> library) {
  CollectiveTable out;
  out.op = name_of(question.op);
  out.cluster = cluster.name;
  out.machine = cluster.words();
  out.library = library ? std::string(name_of(*library)) : std::string(cluster.raw ? kRaw : kNccl);
  out.flows = question.full ? "full" : "folded";
  out.ranks = places.ranks;
  out.ranks_per_node = places.per_node;
  out.nodes = places.nodes;
  out.type = question.type;
  const ExchangeKind op = question.op;
  out.counts_per_rank =
      op == ExchangeKind::all_gather || op == ExchangeKind::reduce_scatter || op == ExchangeKind::all_to_all;
  out.sums = op == ExchangeKind::all_reduce || op == ExchangeKind::reduce_scatter || op == ExchangeKind::reduce ||
             op == ExchangeKind::barrier || op == ExchangeKind::parameter_server_push;
  out.has_root = op == ExchangeKind::broadcast || op == ExchangeKind::reduce;
  return out;
}

}  // namespace

CollectiveTable answer(const CollectiveQuestion& question, const Catalog& catalog) {
  check_options(question);
  const CollectiveCluster cluster = find_cluster(question, catalog);
  const RankPlaces places = place_ranks(question, cluster);
  const std::optional<HostLibrary> library = library_of(question, cluster);
  CollectiveTable table = empty_table(question, cluster, places, library);
  const Pricer price = pricer(question, cluster, places, library, table.notes);
  std::vector<Bytes> sizes = question.sizes;
  if (question.op == ExchangeKind::barrier) {
    if (!sizes.empty()) table.notes.emplace_back("a barrier carries no data: sizes do not matter to it");
    sizes = {Bytes(0)};
  }
  for (const Bytes size : sizes) {
    CollectiveRow& row = table.rows.emplace_back();
    row.size = size;
    if (is_collective(question.op)) row.bus_factor = bus_factor(collective_of(question.op), places.ranks);
    price(row);
  }
  return table;
}

}  // namespace stepcast
