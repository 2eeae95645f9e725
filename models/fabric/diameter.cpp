#include <algorithm>
#include <deque>

#include "models/fabric/metrics.hpp"

namespace stepcast {

namespace {

using Vertex = Fabric::Vertex;

/// Breadth first from one vertex over the network, and along the shortest ways the slowest latency.
struct Reach {
  std::vector<int> links;
  std::vector<Seconds> latency;
};

class Search {
 public:
  explicit Search(const Fabric& fabric) : fabric_(fabric), torus_(fabric.torus() != nullptr) {}

  FabricDiameter from(Vertex start) {
    const auto& graph = fabric_.graph();
    const auto all = boost::num_vertices(graph);
    reach_.links.assign(all, -1);
    reach_.latency.assign(all, Seconds(0));
    reach_.links[start] = 0;
    std::deque<Vertex> queue{start};
    FabricDiameter out;
    while (!queue.empty()) {
      const Vertex at = queue.front();
      queue.pop_front();
      const bool end = at < fabric_.first_switch();
      const bool elsewhere = end && graph[at].node != graph[start].node;
      if (elsewhere && reach_.links[at] > out.links) out = {reach_.links[at], reach_.latency[at]};
      if (elsewhere && reach_.links[at] == out.links) out.latency = std::max(out.latency, reach_.latency[at]);
      if (end && at != start && !torus_) continue;
      const auto [first, last] = boost::out_edges(at, graph);
      for (auto edge = first; edge != last; ++edge)
        if (graph[*edge].id >= fabric_.first_network_link())
          visit(at, boost::target(*edge, graph), graph[*edge], queue);
    }
    return out;
  }

 private:
  void visit(Vertex at, Vertex to, const FabricLink& link, std::deque<Vertex>& queue) {
    const Seconds latency = reach_.latency[at] + link.latency;
    if (reach_.links[to] < 0) {
      reach_.links[to] = reach_.links[at] + 1;
      reach_.latency[to] = latency;
      queue.push_back(to);
    } else if (reach_.links[to] == reach_.links[at] + 1) {
      reach_.latency[to] = std::max(reach_.latency[to], latency);
    }
  }

  const Fabric& fabric_;
  bool torus_;
  Reach reach_;
};

/// Ends to start from: one for each set of switches that NICs hang on. In presets all of one kind are alike, so the
/// first and the last, which may be only partly filled, do.
std::vector<Vertex> starts(const Fabric& fabric) {
  const int ports = std::max(1, fabric.interior().nics());
  const auto port = [&](int node, int nic) {
    return fabric.interior().nics() > 0 ? fabric.nic(node, nic) : fabric.place(node, 0);
  };
  std::vector<Vertex> out;
  const bool custom = fabric.spec().preset == FabricPreset::custom;
  for (int node = 0; node < fabric.nodes(); ++node) {
    if (!custom && node != 0 && node != fabric.nodes() - 1) continue;
    for (int nic = 0; nic < ports; ++nic) out.push_back(port(node, nic));
  }
  return out;
}

}  // namespace

FabricDiameter diameter(const Fabric& fabric) {
  FabricDiameter out;
  if (fabric.nodes() < 2) return out;
  Search search(fabric);
  for (const Vertex start : starts(fabric)) {
    const FabricDiameter one = search.from(start);
    if (one.links > out.links)
      out = one;
    else if (one.links == out.links)
      out.latency = std::max(out.latency, one.latency);
  }
  return out;
}

}  // namespace stepcast
