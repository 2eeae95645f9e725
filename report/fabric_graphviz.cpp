#include <fmt/format.h>

#include "report/fabric_report.hpp"

namespace stepcast {

namespace {

constexpr const char* kShapes[] = {"box", "diamond", "hexagon", "octagon", "ellipse", "box3d"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Inside a node's box its number is not repeated.
std::string vertex_line(const Fabric& fabric, Fabric::Vertex v, const char* indent) {
  const FabricVertex& vertex = fabric.graph()[v];
  std::string name = fabric.name(v);
  const std::string box = fmt::format("node {} ", vertex.node);
  if (v < fabric.first_switch() && name.starts_with(box)) name.erase(0, box.size());
  return fmt::format("{}v{} [label=\"{}\", shape={}];\n", indent, v, escaped(name),
                     kShapes[static_cast<std::size_t>(vertex.kind)]);
}

std::string link_line(const Fabric& fabric, int id) {
  const FabricLink& link = fabric.link(id);
  const std::string times = link.cables > 1 ? fmt::format("{} × ", link.cables) : "";
  return fmt::format("  v{} -- v{} [label=\"{}{:g} Gb/s\"];\n", fabric.source(id), fabric.target(id), times,
                     link.bandwidth.in(1_Gbps) / link.cables);
}

}  // namespace

std::string fabric_graphviz(const Fabric& fabric) {
  std::string out = "graph fabric {\n  layout=dot;\n  rankdir=BT;\n  node [fontname=\"sans-serif\"];\n";
  const auto places = static_cast<int>(fabric.interior().places().size());
  for (int node = 0; node < fabric.nodes(); ++node) {
    out += fmt::format("  subgraph cluster_node{} {{\n    label=\"node {}\";\n", node, node);
    for (int place = 0; place < places; ++place) out += vertex_line(fabric, fabric.place(node, place), "    ");
    out += "  }\n";
  }
  for (Fabric::Vertex v = fabric.first_switch(); v < boost::num_vertices(fabric.graph()); ++v)
    out += vertex_line(fabric, v, "  ");
  // Links come in pairs of opposite directions; the first of a pair has an even place in its part of the list.
  for (int id = 0; id < fabric.link_count(); id += 2) out += link_line(fabric, id);
  return out + "}\n";
}

}  // namespace stepcast
