#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <memory>
#include <string>
#include <vector>

#include "models/fabric/fabric_link.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/levels.hpp"
#include "models/fabric/node_interior.hpp"
#include "models/fabric/plan/torus.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// How closely the network is drawn. `tiers`: switches that a leaf reaches alike are one vertex, and their links one of
/// the joint rate: what adaptive routing sees. `switches`: each switch a vertex, parallel cables one link. `cables`:
/// each cable a link, because a flow that is hashed to one has no more than its rate.
enum class FabricDetail { tiers, switches, cables };

/// The machines and what joins them, as a directed graph: devices, switches and NICs inside nodes, and the network.
/// Links inside nodes come first, node by node in the order of the interior's wires; then those of the network.
class Fabric {
 public:
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, FabricVertex, FabricLink>;
  using Vertex = Graph::vertex_descriptor;

  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int devices_per_node() const { return interior_.devices(); }
  [[nodiscard]] int devices() const { return nodes_ * devices_per_node(); }
  /// Vertex of the device that a rank has: ranks fill node after node, in the order of the placement.
  [[nodiscard]] Vertex device(int rank) const {
    return place(node_of(rank / devices_per_node()), rank % devices_per_node());
  }
  /// Node of the fabric that the i-th node of ranks takes.
  [[nodiscard]] int node_of(int i) const { return order_.empty() ? i : order_[static_cast<std::size_t>(i)]; }
  /// Links by id.
  [[nodiscard]] const FabricLink& link(int id) const { return (*graph_)[links_[static_cast<std::size_t>(id)]]; }
  [[nodiscard]] int link_count() const { return static_cast<int>(links_.size()); }
  [[nodiscard]] Vertex source(int id) const { return boost::source(links_[static_cast<std::size_t>(id)], *graph_); }
  [[nodiscard]] Vertex target(int id) const { return boost::target(links_[static_cast<std::size_t>(id)], *graph_); }
  /// `node 3 nic 1`, `leaf 12`: how messages and drawings name a vertex.
  [[nodiscard]] std::string name(Vertex vertex) const;

  /// The same for every node.
  [[nodiscard]] const NodeInterior& interior() const { return interior_; }
  /// Vertex of a place of a node.
  [[nodiscard]] Vertex place(int node, int place) const {
    return static_cast<Vertex>(node) * interior_.places().size() + static_cast<Vertex>(place);
  }
  [[nodiscard]] Vertex nic(int node, int nic) const {
    return place(node, NodeInterior::nic_place(interior_.devices(), nic));
  }
  /// Id of a wire of a node's interior.
  [[nodiscard]] int wire(int node, int wire) const { return node * static_cast<int>(interior_.wires().size()) + wire; }
  /// Switches of the network are the vertices from here on.
  [[nodiscard]] Vertex first_switch() const { return place(nodes_, 0); }
  /// Links of the network are those from here on.
  [[nodiscard]] int first_network_link() const { return wire(nodes_, 0); }

  [[nodiscard]] const FabricSpec& spec() const { return spec_; }
  [[nodiscard]] const FabricLevels& levels() const { return levels_; }
  /// NICs of different number have different leaves.
  [[nodiscard]] bool rails_apart() const { return levels_.rails_apart; }
  /// Null unless the network is a torus.
  [[nodiscard]] const TorusPlan* torus() const { return torus_.get(); }
  /// The switch that it is built of; null when none or unknown.
  [[nodiscard]] const SwitchPart* network_switch() const { return switch_; }

 private:
  friend class FabricBuilder;
  /// Shared by copies: descriptors of edges point into it.
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  NodeInterior interior_;
  int nodes_ = 0;
  std::vector<int> order_;  ///< empty: as they come
  std::vector<Graph::edge_descriptor> links_;
  std::vector<std::string> switch_names_;  ///< custom fabrics
  FabricSpec spec_;
  FabricLevels levels_;
  std::shared_ptr<const TorusPlan> torus_;
  const SwitchPart* switch_ = nullptr;
};

/// Beyond this a fabric is refused rather than built: the largest machines planned have a few hundred thousand devices.
inline constexpr long kMostFabricDevices = 1L << 20;

/// Builds the fabric of `nodes` equal nodes; `nics` and `nic_bandwidth` are those in use, after the spec's own, and
/// `part` the switch (network_switch), which must outlive it, as the catalogue's entries do. Everything that
/// check_fabric finds is thrown as an InputError. The detail is by default what the spec's routing needs.
Fabric build_fabric(const FabricSpec& spec, const Node& node, int nodes, int nics, BytesPerSecond nic_bandwidth,
                    const SwitchPart* part, const Catalog& catalog);
Fabric build_fabric(const FabricSpec& spec, const Node& node, int nodes, int nics, BytesPerSecond nic_bandwidth,
                    const SwitchPart* part, const Catalog& catalog, FabricDetail detail);

}  // namespace stepcast
