#include "models/fabric/build/builder.hpp"

#include <fmt/format.h>

namespace stepcast {

FabricBuilder::FabricBuilder(NodeInterior interior, int nodes, FabricDetail detail) : detail_(detail) {
  fabric_.interior_ = std::move(interior);
  fabric_.nodes_ = nodes;
  const auto places = fabric_.interior_.places();
  const auto wires = fabric_.interior_.wires();
  fabric_.graph_ = std::make_shared<Fabric::Graph>(places.size() * static_cast<std::size_t>(nodes));
  fabric_.links_.reserve(wires.size() * static_cast<std::size_t>(nodes));
  for (int n = 0; n < nodes; ++n) {
    for (std::size_t p = 0; p < places.size(); ++p) {
      FabricVertex& vertex = (*fabric_.graph_)[fabric_.place(n, static_cast<int>(p))];
      vertex = places[p];
      vertex.node = n;
    }
    for (const NodeInterior::Wire& wire : wires)
      add_link(fabric_.place(n, wire.from), fabric_.place(n, wire.to), wire.link);
  }
}

FabricBuilder::FabricBuilder(NodeInterior interior, int nodes, PartsTally& tally)
    : detail_(FabricDetail::switches), tally_(&tally) {
  fabric_.interior_ = std::move(interior);
  fabric_.nodes_ = nodes;
}

Fabric::Vertex FabricBuilder::add_switch(int level, int index, int plane) {
  if (tally_ != nullptr) return fabric_.first_switch() + static_cast<Vertex>(tally_->add_switch(level));
  return boost::add_vertex(FabricVertex{VertexKind::network_switch, -1, index, level, plane}, *fabric_.graph_);
}

Fabric::Vertex FabricBuilder::add_switch(int level, int index, std::string name) {
  fabric_.switch_names_.push_back(std::move(name));
  return add_switch(level, index);
}

void FabricBuilder::add_link(Vertex from, Vertex to, FabricLink link) {
  if (tally_ != nullptr) {
    // Both directions are added: the one out of the lower vertex counts.
    if (from > to) return;
    const Vertex first = fabric_.first_switch();
    const auto end = [first](Vertex v) { return v < first ? PartsTally::kNode : static_cast<int>(v - first); };
    return tally_->add_cables(end(from), end(to), link);
  }
  link.id = static_cast<int>(fabric_.links_.size());
  fabric_.links_.push_back(boost::add_edge(from, to, link, *fabric_.graph_).first);
}

void FabricBuilder::join(Vertex a, Vertex b, const FabricLink& link) {
  FabricLink one = link;
  const bool apart = detail_ == FabricDetail::cables && link.cables > 1;
  if (apart) {
    one.bandwidth = link.bandwidth / link.cables;
    one.cables = 1;
  }
  for (int i = 0; i < (apart ? link.cables : 1); ++i) {
    add_link(a, b, one);
    add_link(b, a, one);
  }
}

void FabricBuilder::join_nic(int node, int nic, Vertex network_switch, BytesPerSecond rate, int cables,
                             const SwitchFigures& figures) {
  const Vertex end = fabric_.nic(node, nic);
  // A bundle of NICs stays one link whatever the detail: a message is spread over a device's NICs by its channels.
  FabricLink link{FabricLinkKind::nic, rate * cables, kNicLatency + kCableLatency, cables, 0};
  add_link(end, network_switch, link);
  link.latency += figures.latency;
  add_link(network_switch, end, link);
}

void FabricBuilder::join_switches(Vertex a, Vertex b, BytesPerSecond joint, int cables, const SwitchFigures& figures) {
  join(a, b, {FabricLinkKind::trunk, joint, figures.latency + kCableLatency, cables, 0});
}

void FabricBuilder::set(const FabricSpec& spec, const FabricLevels& levels, const SwitchPart* part) {
  fabric_.spec_ = spec;
  fabric_.levels_ = levels;
  fabric_.switch_ = part;
}

void FabricBuilder::set_torus(const TorusPlan& plan) { fabric_.torus_ = std::make_shared<const TorusPlan>(plan); }

void FabricBuilder::set_order(std::vector<int> order) { fabric_.order_ = std::move(order); }

std::string Fabric::name(Vertex vertex) const {
  const FabricVertex& v = (*graph_)[vertex];
  constexpr const char* kInside[] = {"device", "NVSwitch", "PCIe switch", "socket", "NIC"};
  if (v.kind != VertexKind::network_switch)
    return fmt::format("node {} {} {}", v.node, kInside[static_cast<std::size_t>(v.kind)], v.index);
  if (v.level < 3 && static_cast<std::size_t>(v.index) < switch_names_.size())
    return switch_names_[static_cast<std::size_t>(v.index)];
  if (v.level == 4) return "wide-area network";
  const bool single = levels_.levels.empty() && !levels_.rails_apart && v.level == 0;
  constexpr const char* kNetwork[] = {"leaf", "spine", "core", "site"};
  return fmt::format("{} {}", single ? "switch" : kNetwork[static_cast<std::size_t>(v.level)], v.index);
}

}  // namespace stepcast
