#include <algorithm>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>

#include "models/fabric/metrics.hpp"

namespace stepcast {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
// Capacities are whole Mb/s: push-relabel on floating-point numbers may not end.
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, long,
                    boost::property<boost::edge_residual_capacity_t, long,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
constexpr BytesPerSecond kUnit = 1e-3 * 1_Gbps;

void add_link(FlowGraph& graph, std::size_t from, std::size_t to, long capacity) {
  const auto forth = boost::add_edge(from, to, graph).first, back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, forth, capacity);
  boost::put(boost::edge_capacity, graph, back, 0L);
  boost::put(boost::edge_reverse, graph, forth, back);
  boost::put(boost::edge_reverse, graph, back, forth);
}

/// The network with the nodes of each side drawn together into one vertex; in a torus, where NICs pass traffic on, they
/// stay apart and hang on their side by what they inject.
class Sides {
 public:
  Sides(const Fabric& fabric, int first) : fabric_(fabric), first_(first), torus_(fabric.torus() != nullptr) {}

  [[nodiscard]] FlowGraph flow_graph() const {
    const auto vertices = boost::num_vertices(fabric_.graph());
    FlowGraph graph(2 + (torus_ ? vertices : vertices - fabric_.first_switch()));
    for (int id = fabric_.first_network_link(); id < fabric_.link_count(); ++id) {
      const std::size_t from = at(fabric_.source(id)), to = at(fabric_.target(id));
      if (from != to) add_link(graph, from, to, whole(fabric_.link(id).bandwidth));
    }
    if (!torus_) return graph;
    // A NIC of a torus injects what all its links carry.
    const long all = whole(fabric_.torus()->link * (2.0 * fabric_.torus()->axes));
    for (int node = 0; node < fabric_.nodes(); ++node)
      for (int nic = 0; nic < fabric_.interior().nics(); ++nic) {
        const std::size_t router = at(fabric_.nic(node, nic));
        if (node < first_) add_link(graph, 0, router, all);
        if (node >= first_) add_link(graph, router, 1, all);
      }
    return graph;
  }

 private:
  static long whole(BytesPerSecond rate) { return std::lround(rate / kUnit); }

  [[nodiscard]] std::size_t at(Fabric::Vertex vertex) const {
    if (torus_) return 2 + vertex;
    if (vertex >= fabric_.first_switch()) return 2 + vertex - fabric_.first_switch();
    return fabric_.graph()[vertex].node < first_ ? 0 : 1;
  }

  const Fabric& fabric_;
  int first_;
  bool torus_;
};

}  // namespace

BytesPerSecond cut_bandwidth(const Fabric& fabric, int nodes) {
  if (nodes <= 0 || nodes >= fabric.nodes()) return BytesPerSecond(0);
  FlowGraph graph = Sides(fabric, nodes).flow_graph();
  return kUnit * static_cast<double>(boost::push_relabel_max_flow(graph, 0, 1));
}

BytesPerSecond bisection_bandwidth(const Fabric& fabric) { return cut_bandwidth(fabric, fabric.nodes() / 2); }

std::optional<BytesPerSecond> bisection_by_levels(FabricPreset preset, const FabricLevels& levels, int nodes,
                                                  BytesPerSecond node_network) {
  if (preset == FabricPreset::custom) return std::nullopt;
  if (nodes < 2) return BytesPerSecond(0);
  const bool each_to_each = preset == FabricPreset::dragonfly || preset == FabricPreset::dragonfly_plus;
  const int half = nodes / 2;
  BytesPerSecond most = node_network * half;
  for (const FabricLevel& level : levels.levels) {
    const int groups = nodes / level.nodes;
    if (nodes % level.nodes != 0 || groups % 2 != 0) return std::nullopt;
    const bool outermost = &level == &levels.levels.back();
    if (each_to_each && !outermost) continue;
    const double half_the_groups = 0.5 * groups;
    const double across = each_to_each ? half_the_groups / (groups - 1) : 1;
    most = std::min(most, level.up * half_the_groups * across);
  }
  return most;
}

}  // namespace stepcast
