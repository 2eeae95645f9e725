#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "models/fabric/fabric_spec.hpp"
#include "units/quantity.hpp"

namespace stepcast {

enum class VertexKind : std::uint8_t { device, native_switch, pcie_switch, socket, nic, network_switch };
template <>
struct EnumNames<VertexKind> {
  static constexpr std::array names{"device", "native_switch", "pcie_switch", "socket", "nic", "network_switch"};
};

/// A place that traffic passes. `index` counts within the node, or within a level of the network.
struct FabricVertex {
  VertexKind kind = VertexKind::device;
  int node = -1;  ///< −1: a switch of the network
  int index = 0;
  int level = 0;  ///< of a network switch: 0 leaf, 1 spine, 2 core
};

enum class FabricLinkKind : std::uint8_t { native, pcie, socket, nic, trunk, wan };
template <>
struct EnumNames<FabricLinkKind> {
  static constexpr std::array names{"native", "pcie", "socket", "nic", "trunk", "wan"};
};

/// One direction between two vertices; `cables` in parallel count as one link of their joint rate.
struct FabricLink {
  FabricLinkKind kind = FabricLinkKind::native;
  BytesPerSecond bandwidth;  ///< of all cables, per direction, raw rate
  Seconds latency;
  int cables = 1;
  int id = 0;  ///< dense: 0 … links − 1
};

/// The machines and what joins them, as a directed graph: devices, switches and NICs inside nodes, and the network.
class Fabric {
 public:
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, FabricVertex, FabricLink>;
  using Vertex = Graph::vertex_descriptor;

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int devices_per_node() const { return devices_per_node_; }
  [[nodiscard]] int devices() const { return nodes_ * devices_per_node_; }
  /// Vertex of the device that a rank has: ranks fill node after node.
  [[nodiscard]] Vertex device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }
  /// Links by id.
  [[nodiscard]] const FabricLink& link(int id) const { return graph_[links_[static_cast<std::size_t>(id)]]; }
  [[nodiscard]] int link_count() const { return static_cast<int>(links_.size()); }
  /// `node 3 nic 1`, `leaf 12`: how messages and drawings name a vertex.
  [[nodiscard]] std::string name(Vertex vertex) const;

 private:
  friend class FabricBuilder;
  Graph graph_;
  int nodes_ = 0, devices_per_node_ = 0;
  std::vector<Vertex> devices_;
  std::vector<Graph::edge_descriptor> links_;
  std::vector<std::string> switch_names_;  ///< custom fabrics
};

}  // namespace stepcast
