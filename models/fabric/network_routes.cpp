#include "models/fabric/network_routes.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "fields/splitmix64.hpp"

namespace stepcast {

namespace {

bool of_network(FabricLinkKind kind) {
  return kind == FabricLinkKind::nic || kind == FabricLinkKind::trunk || kind == FabricLinkKind::wan;
}

/// Sites are joined by more than up and down.
bool is_clos(const Fabric& fabric) {
  if (fabric.spec().wan || fabric.interior().nics() == 0) return false;
  switch (fabric.spec().preset) {
    case FabricPreset::single_switch:
    case FabricPreset::fat_tree:
    case FabricPreset::fat_tree_3:
    case FabricPreset::rail_optimized:
    case FabricPreset::rail_only:
      return true;
    case FabricPreset::dragonfly:
    case FabricPreset::dragonfly_plus:
    case FabricPreset::torus_2d:
    case FabricPreset::torus_3d:
    case FabricPreset::custom:
      break;
  }
  return false;
}

}  // namespace

NetworkRoutes::NetworkRoutes(const Fabric& fabric, FabricRouting routing, std::uint64_t seed)
    : fabric_(fabric),
      routing_(routing),
      seed_(seed),
      torus_(fabric.torus() != nullptr),
      clos_(is_clos(fabric)),
      failed_(static_cast<std::size_t>(fabric.link_count())),
      by_receiver_(boost::num_vertices(fabric.graph()), nullptr) {
  index_hops();
  for (Vertex v = fabric.first_switch(); v < boost::num_vertices(fabric.graph()); ++v)
    standing_.push_back({fabric.graph()[v].level, fabric.graph()[v].plane});
}

void NetworkRoutes::index_hops() {
  const auto& graph = fabric_.graph();
  const auto vertices = boost::num_vertices(graph);
  first_hop_.assign(vertices + 1, 0);
  for (int id = fabric_.first_network_link(); id < fabric_.link_count(); ++id) ++first_hop_[fabric_.source(id) + 1];
  for (std::size_t v = 0; v < vertices; ++v) first_hop_[v + 1] += first_hop_[v];
  hops_.resize(first_hop_.back());
  std::vector<std::uint32_t> next = first_hop_;
  for (int id = fabric_.first_network_link(); id < fabric_.link_count(); ++id)
    hops_[next[fabric_.source(id)]++] = {id, static_cast<std::uint32_t>(fabric_.target(id))};
}

void NetworkRoutes::fail(int link) {
  failed_[static_cast<std::size_t>(link)] = 1;
  broken_ = true;
  by_goals_.clear();
  std::fill(by_receiver_.begin(), by_receiver_.end(), nullptr);
}

bool NetworkRoutes::passes(Vertex vertex) const { return vertex >= fabric_.first_switch() || torus_; }

/// Where a vertex stands in a table of distances: only what can be passed needs a place.
std::size_t NetworkRoutes::transit(Vertex vertex) const { return torus_ ? vertex : vertex - fabric_.first_switch(); }

std::span<const NetworkRoutes::Hop> NetworkRoutes::hops(Vertex vertex) const {
  return {hops_.data() + first_hop_[vertex], hops_.data() + first_hop_[vertex + 1]};
}

const NetworkRoutes::Distances& NetworkRoutes::distances_to(Vertex receiver) {
  const Distances*& known = by_receiver_[receiver];
  if (known != nullptr) return *known;
  std::vector<Vertex> goals;
  const auto [first, last] = boost::in_edges(receiver, fabric_.graph());
  for (auto edge = first; edge != last; ++edge) {
    const FabricLink& link = fabric_.graph()[*edge];
    const Vertex source = boost::source(*edge, fabric_.graph());
    if (of_network(link.kind) && passes(source) && link.id >= fabric_.first_network_link() &&
        failed_[static_cast<std::size_t>(link.id)] == 0)
      goals.push_back(source);
  }
  std::sort(goals.begin(), goals.end());
  goals.erase(std::unique(goals.begin(), goals.end()), goals.end());
  const auto [entry, fresh] = by_goals_.try_emplace(std::move(goals));
  if (fresh) entry->second = search(entry->first);
  known = &entry->second;
  return *known;
}

NetworkRoutes::Distances NetworkRoutes::search(const std::vector<Vertex>& goals) const {
  const auto& graph = fabric_.graph();
  Distances out(boost::num_vertices(graph) - (torus_ ? 0 : fabric_.first_switch()), -1);
  std::deque<Vertex> queue;
  for (const Vertex goal : goals) {
    out[transit(goal)] = 0;
    queue.push_back(goal);
  }
  while (!queue.empty()) {
    const Vertex at = queue.front();
    queue.pop_front();
    const auto [first, last] = boost::in_edges(at, graph);
    for (auto edge = first; edge != last; ++edge) {
      const Vertex source = boost::source(*edge, graph);
      const int id = graph[*edge].id;
      if (!passes(source) || id < fabric_.first_network_link() || failed_[static_cast<std::size_t>(id)] != 0) continue;
      std::int16_t& distance = out[transit(source)];
      if (distance >= 0) continue;
      distance = static_cast<std::int16_t>(out[transit(at)] + 1);
      queue.push_back(source);
    }
  }
  return out;
}

std::size_t NetworkRoutes::choose(std::size_t choices, Vertex at, Vertex from, Vertex to, std::uint64_t flow) const {
  if (choices == 1) return 0;
  // In turn by receiver: those that hang on one switch take different ways up (destination-modulo routing).
  if (routing_ == FabricRouting::adaptive) return (to + flow) % choices;
  return splitmix64(splitmix64(splitmix64(splitmix64(seed_ ^ at) ^ from) ^ to) ^ flow) % choices;
}

bool NetworkRoutes::route(Vertex from, Vertex to, std::uint64_t flow, std::vector<int>& out) {
  if (broken_) return searched_route(from, to, flow, out);
  if (clos_) return clos_route(from, to, flow, out);
  if (!torus_) return searched_route(from, to, flow, out);
  torus_route(from, to, out);
  return true;
}

NetworkRoutes::Vertex NetworkRoutes::take(Vertex at, Vertex from, Vertex to, std::uint64_t flow,
                                          std::vector<int>& out) {
  const Hop& hop = candidates_[choose(candidates_.size(), at, from, to, flow)];
  out.push_back(hop.link);
  return hop.to;
}

bool NetworkRoutes::clos_route(Vertex from, Vertex to, std::uint64_t flow, std::vector<int>& out) {
  const auto standing = [&](Vertex v) -> const Standing& { return standing_[v - fabric_.first_switch()]; };
  const Vertex leaf = hops(to).front().to;
  const int plane = standing(leaf).plane;
  Vertex at = hops(from).front().to;
  out.push_back(hops(from).front().link);
  while (at != leaf) {
    const Standing here = standing(at);
    candidates_.clear();
    for (const Hop& hop : hops(at)) {
      if (!passes(hop.to)) continue;
      const Standing& next = standing(hop.to);
      const bool up = next.level > here.level && !(here.level == 1 && here.plane == plane);
      const bool down = (here.level == 1 && hop.to == leaf) || (here.level == 2 && next.plane == plane);
      if (up || down) candidates_.push_back(hop);
    }
    if (candidates_.empty()) return false;
    at = take(at, from, to, flow, out);
  }
  out.push_back(link_between(leaf, to));
  return true;
}

bool NetworkRoutes::searched_route(Vertex from, Vertex to, std::uint64_t flow, std::vector<int>& out) {
  const Distances& distance = distances_to(to);
  Vertex at = from;
  for (std::int16_t left = -1; at != to;) {
    candidates_.clear();
    std::int16_t best = -1;
    for (const Hop& hop : hops(at)) {
      if (failed_[static_cast<std::size_t>(hop.link)] != 0) continue;
      const bool last = hop.to == to;
      if (!last && !passes(hop.to)) continue;
      const std::int16_t d = last ? std::int16_t{-1} : distance[transit(hop.to)];
      if (!last && d < 0) continue;
      // Each step comes nearer: what is as far as this place or farther leads round in circles.
      if (!last && left >= 0 && d >= left) continue;
      if (!candidates_.empty() && d > best) continue;
      if (!candidates_.empty() && d < best) candidates_.clear();
      best = d;
      candidates_.push_back(hop);
    }
    if (candidates_.empty()) return false;
    at = take(at, from, to, flow, out);
    left = best;
  }
  return true;
}

int NetworkRoutes::link_between(Vertex from, Vertex to) const {
  for (const Hop& hop : hops(from))
    if (hop.to == to) return hop.link;
  return -1;
}

/// Axis by axis, the shorter way round; half way round, one router upwards and the next one downwards. Along an open
/// axis there is one way.
void NetworkRoutes::torus_route(Vertex from, Vertex to, std::vector<int>& out) const {
  const TorusPlan& plan = *fabric_.torus();
  const FabricVertex &a = fabric_.graph()[from], &b = fabric_.graph()[to];
  auto here = plan.coordinates(a.node, a.index);
  const bool even = std::accumulate(here.begin(), here.end(), 0) % 2 == 0;
  const auto goal = plan.coordinates(b.node, b.index);
  Vertex at = from;
  for (std::size_t axis = 0; axis < here.size(); ++axis) {
    const int size = plan.size(static_cast<int>(axis));
    const int ahead = (goal[axis] - here[axis] + size) % size;
    const bool shorter = 2 * ahead < size || (2 * ahead == size && even);
    const bool upwards = plan.open(static_cast<int>(axis)) ? goal[axis] > here[axis] : shorter;
    const int step = upwards ? 1 : size - 1;
    while (here[axis] != goal[axis]) {
      here[axis] = (here[axis] + step) % size;
      const auto [node, nic] = plan.at(here);
      const Vertex next = fabric_.nic(node, nic);
      out.push_back(link_between(at, next));
      at = next;
    }
  }
}

}  // namespace stepcast
