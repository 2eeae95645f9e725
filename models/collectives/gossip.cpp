#include "models/collectives/gossip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace stepcast {

namespace {

using Edge = std::pair<int, int>;

GossipGraph graph_of(int ranks, std::vector<Edge> edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::erase_if(edges, [](const Edge& edge) { return edge.first == edge.second; });
  return {ranks, std::move(edges)};
}

int most(const std::vector<int>& counts) {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

/// Ranks that rank 0 reaches along the edges, or against them.
bool reaches_all(const GossipGraph& graph, bool against) {
  std::vector<std::vector<int>> next(static_cast<std::size_t>(graph.ranks));
  for (const auto& [from, to] : graph.edges)
    next[static_cast<std::size_t>(against ? to : from)].push_back(against ? from : to);
  std::vector<bool> seen(next.size());
  std::vector<int> open{0};
  seen[0] = true;
  std::size_t reached = 1;
  while (!open.empty()) {
    const int rank = open.back();
    open.pop_back();
    for (const int other : next[static_cast<std::size_t>(rank)]) {
      if (seen[static_cast<std::size_t>(other)]) continue;
      seen[static_cast<std::size_t>(other)] = true;
      ++reached;
      open.push_back(other);
    }
  }
  return reached == next.size();
}

/// Tries of a switch for each edge, after which a graph has forgotten what it was made of (Milo et al. 2003, arXiv
/// cond-mat/0312028: as good as a hundred).
constexpr std::size_t kSwitches = 10;

/// Every rank with its nearest on a ring; of an odd degree with the one opposite, too.
std::vector<Edge> circulant(int ranks, int degree) {
  std::vector<Edge> edges;
  for (int rank = 0; rank < ranks; ++rank)
    for (int stride = 1; stride <= degree / 2; ++stride) edges.emplace_back(std::minmax(rank, (rank + stride) % ranks));
  for (int rank = 0; degree % 2 != 0 && rank < ranks / 2; ++rank) edges.emplace_back(rank, rank + ranks / 2);
  return edges;
}

/// A regular graph at random: pairs of edges of a circulant exchange their ends wherever that makes no edge twice and
/// none from a rank to itself.
std::set<Edge> switched_edges(int ranks, int degree, std::mt19937_64& random) {
  std::vector<Edge> edges = circulant(ranks, degree);
  std::set<Edge> there(edges.begin(), edges.end());
  const auto draw = [&] { return static_cast<std::size_t>(random() % edges.size()); };
  for (std::size_t i = 0; i < kSwitches * edges.size(); ++i) {
    Edge& one = edges[draw()];
    Edge& other = edges[draw()];
    const bool turned = random() % 2 != 0;
    const Edge first = std::minmax(one.first, turned ? other.first : other.second);
    const Edge second = std::minmax(one.second, turned ? other.second : other.first);
    if (first.first == first.second || second.first == second.second || first == second) continue;
    if (there.contains(first) || there.contains(second)) continue;
    there.erase(one);
    there.erase(other);
    there.insert({first, second});
    one = first;
    other = second;
  }
  return there;
}

}  // namespace

int GossipGraph::out_degree() const {
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  for (const Edge& edge : edges) ++counts[static_cast<std::size_t>(edge.first)];
  return most(counts);
}

int GossipGraph::in_degree() const {
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  for (const Edge& edge : edges) ++counts[static_cast<std::size_t>(edge.second)];
  return most(counts);
}

bool GossipGraph::strongly_connected() const {
  return ranks <= 1 || (reaches_all(*this, false) && reaches_all(*this, true));
}

GossipGraph ring_graph(int ranks) {
  std::vector<Edge> edges;
  for (int rank = 0; rank < ranks; ++rank) {
    edges.emplace_back(rank, (rank + 1) % ranks);
    edges.emplace_back(rank, (rank + ranks - 1) % ranks);
  }
  return graph_of(ranks, std::move(edges));
}

GossipGraph torus_graph(int ranks) {
  int rows = 1;
  for (int divisor = 2; divisor <= ranks / divisor; ++divisor)
    if (ranks % divisor == 0) rows = divisor;
  const int columns = ranks / rows;
  std::vector<Edge> edges;
  for (int rank = 0; rank < ranks; ++rank) {
    const int row = rank / columns, column = rank % columns;
    for (const int side : {1, -1}) {
      edges.emplace_back(rank, row * columns + (column + side + columns) % columns);
      edges.emplace_back(rank, (row + side + rows) % rows * columns + column);
    }
  }
  return graph_of(ranks, std::move(edges));
}

GossipGraph exponential_graph(int ranks) {
  std::vector<Edge> edges;
  for (const GossipGraph& round : exponential_rounds(ranks))
    edges.insert(edges.end(), round.edges.begin(), round.edges.end());
  return graph_of(ranks, std::move(edges));
}

std::vector<GossipGraph> exponential_rounds(int ranks) {
  std::vector<GossipGraph> rounds;
  for (long stride = 1; stride < std::max(ranks, 2); stride *= 2) {
    std::vector<Edge> edges;
    for (int rank = 0; rank < ranks; ++rank) edges.emplace_back(rank, static_cast<int>((rank + stride) % ranks));
    rounds.push_back(graph_of(ranks, std::move(edges)));
  }
  return rounds;
}

GossipGraph random_regular_graph(int ranks, int degree, std::uint64_t seed) {
  const auto fail = [](std::string message, std::string hint) {
    throw InputError({{"--degree", "", std::move(message), std::move(hint)}});
  };
  if (degree < 1 || degree >= ranks)
    fail(fmt::format("found {}, but {} ranks have 1 to {} peers each", degree, ranks, ranks - 1),
         fmt::format("the nearest is {}", std::clamp(degree, 1, std::max(1, ranks - 1))));
  if (static_cast<long>(ranks) * degree % 2 != 0)
    fail(fmt::format("{} ranks with {} peers each are {} ends of edges, which is odd", ranks, degree,
                     static_cast<long>(ranks) * degree),
         fmt::format("the nearest is {}", degree > 1 ? degree - 1 : degree + 1));
  std::mt19937_64 random(seed);
  // Dense graphs are drawn as what they leave out.
  const bool complement = degree > (ranks - 1) / 2;
  const int drawn = complement ? ranks - 1 - degree : degree;
  const std::set<Edge> chosen = drawn > 0 ? switched_edges(ranks, drawn, random) : std::set<Edge>{};
  std::vector<Edge> edges;
  for (int a = 0; complement && a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b)
      if (!chosen.contains({a, b})) edges.emplace_back(a, b);
  if (!complement) edges.assign(chosen.begin(), chosen.end());
  const std::size_t count = edges.size();
  for (std::size_t i = 0; i < count; ++i) edges.emplace_back(edges[i].second, edges[i].first);
  return graph_of(ranks, std::move(edges));
}

GossipGraph explicit_graph(int ranks, std::vector<Edge> edges, const std::string& file) {
  Diagnostics diagnostics(file);
  std::set<Edge> known;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto& [from, to] = edges[i];
    const std::string pointer = fmt::format("/{}", i);
    if (std::min(from, to) < 0 || std::max(from, to) >= ranks)
      diagnostics.error(pointer, fmt::format("found {} {}, expected two ranks from 0 to {}", from, to, ranks - 1));
    else if (from == to)
      diagnostics.error(pointer, fmt::format("rank {} sends to itself", from), "name another rank");
    else if (!known.insert(edges[i]).second)
      diagnostics.error(pointer, fmt::format("rank {} sends to rank {} twice", from, to), "name each edge once");
  }
  if (edges.empty()) diagnostics.error("", "the graph has no edge", "name at least one");
  diagnostics.throw_if_faulty();
  return graph_of(ranks, std::move(edges));
}

namespace {

/// Buffers that pass the up-links of the busiest member of a level, in or out.
int through_level(const GossipGraph& graph, int per_node, const PeerPorts::Level& level) {
  const auto member = [&](int rank) { return level.members[static_cast<std::size_t>(rank / per_node)]; };
  const auto count = static_cast<std::size_t>(*std::max_element(level.members.begin(), level.members.end())) + 1;
  std::vector<int> out(count), in(count);
  for (const auto& [from, to] : graph.edges) {
    if (member(from) == member(to)) continue;
    ++out[static_cast<std::size_t>(member(from))];
    ++in[static_cast<std::size_t>(member(to))];
  }
  return std::max(most(out), most(in));
}

}  // namespace

GossipRound gossip_round(const GossipGraph& graph, Bytes size, int ranks_per_node, const PeerPorts& ports) {
  const int per_node = std::max(1, ranks_per_node);
  const auto nodes = static_cast<std::size_t>((graph.ranks + per_node - 1) / per_node);
  const auto ranks = static_cast<std::size_t>(graph.ranks);
  std::vector<int> node_out(nodes), node_in(nodes), out(ranks), in(ranks), native_out(ranks), native_in(ranks);
  for (const auto& [from, to] : graph.edges) {
    const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
    if (from / per_node == to / per_node) {
      ++native_out[a];
      ++native_in[b];
      continue;
    }
    ++node_out[a / static_cast<std::size_t>(per_node)];
    ++node_in[b / static_cast<std::size_t>(per_node)];
    ++out[a];
    ++in[b];
  }
  const int through_node = std::max(most(node_out), most(node_in)), through_rank = std::max(most(out), most(in));
  const int through_native = std::max(most(native_out), most(native_in));
  const auto transfer = [&](int buffers, BytesPerSecond rate) {
    return buffers > 0 ? size * buffers / rate : Seconds(0);
  };
  GossipRound round;
  const int peers = std::max(graph.out_degree(), graph.in_degree());
  const Seconds start = (through_node > 0     ? ports.hop
                         : through_native > 0 ? ports.native_hop
                                              : Seconds(0)) +
                        ports.gap * std::max(0, peers - 1);
  round.time =
      start + std::max({transfer(through_node, ports.node), transfer(through_rank, std::min(ports.rank, ports.node)),
                        transfer(through_native, ports.native)});
  for (const PeerPorts::Level& level : ports.levels)
    round.time = std::max(round.time, start + transfer(through_level(graph, per_node, level), level.up));
  round.busiest_node = size * through_node;
  round.busiest_rank = size * peers;
  return round;
}

GossipRound mean_gossip_round(const std::vector<GossipGraph>& rounds, Bytes size, int ranks_per_node,
                              const PeerPorts& ports) {
  GossipRound mean;
  const double share = 1.0 / static_cast<double>(rounds.size());
  for (const GossipGraph& graph : rounds) {
    const GossipRound round = gossip_round(graph, size, ranks_per_node, ports);
    mean.time += round.time * share;
    mean.busiest_node += round.busiest_node * share;
    mean.busiest_rank += round.busiest_rank * share;
  }
  return mean;
}

}  // namespace stepcast
