#include "models/parallelism/groups.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace stepcast {

namespace {

/// Dimensions that tile the devices; expert parallelism lies inside context × data.
enum Axis { kTensor, kContext, kData, kPipeline, kAxes };

struct Layout {
  std::array<int, kAxes> degree{};
  std::array<int, kAxes> stride{};
  std::array<int, kAxes> inside{};  ///< coordinates of the axis within one node
  int expert_stride = 1;
  bool expert_before_data = true;
  int devices_per_node = 1;
  int side_by_side = 1;  ///< devices of one pipeline rank on one node: what communicates at the same time
};

Layout layout_of(const Scenario& scenario) {
  const Degrees& d = scenario.degrees;
  Layout layout;
  layout.degree = {d.tp, d.cp, d.dp, d.pp};
  layout.devices_per_node = std::min(scenario.devices_per_node(), d.devices());
  int stride = 1;
  int without_context = 1;
  bool data_seen = false;
  const std::string_view order = scenario.spec.strategy.order;
  for (std::size_t start = 0; start < order.size();) {
    const auto dash = std::min(order.find('-', start), order.size());
    const std::string_view name = order.substr(start, dash - start);
    start = dash + 1;
    if (name == "ep") {
      // Expert ranks continue over the context ranks: for expert layers a token's context does not matter.
      layout.expert_stride = data_seen ? without_context * d.cp / d.ep : without_context;
      layout.expert_before_data = !data_seen;
      continue;
    }
    const Axis axis = name == "tp" ? kTensor : name == "cp" ? kContext : name == "dp" ? kData : kPipeline;
    layout.stride[axis] = stride;
    layout.inside[axis] = std::clamp(layout.devices_per_node / stride, 1, layout.degree[axis]);
    stride *= layout.degree[axis];
    if (axis != kContext) without_context *= layout.degree[axis];
    data_seen = data_seen || axis == kData;
  }
  layout.side_by_side = std::max(1, layout.devices_per_node / layout.inside[kPipeline]);
  return layout;
}

GroupShape shape(const Layout& layout, int size, int per_node) {
  per_node = std::clamp(per_node, 1, size);
  return {size, per_node, std::max(1, layout.side_by_side / per_node)};
}

int per_node_with_stride(const Layout& layout, int size, int stride) {
  return std::clamp(layout.devices_per_node / std::max(1, stride), 1, size);
}

}  // namespace

Groups groups_of(const Scenario& scenario) {
  const Layout layout = layout_of(scenario);
  const Degrees& d = scenario.degrees;
  Groups groups;
  groups.tensor = shape(layout, d.tp, layout.inside[kTensor]);
  groups.context = shape(layout, d.cp, layout.inside[kContext]);
  groups.pipeline = shape(layout, d.pp, layout.inside[kPipeline]);
  groups.data = shape(layout, d.dp * d.cp, layout.inside[kData] * layout.inside[kContext]);

  groups.expert = shape(layout, d.ep, per_node_with_stride(layout, d.ep, layout.expert_stride));
  const int replicas = groups.data.size / d.ep;
  const int replica_stride = layout.expert_before_data ? layout.expert_stride * d.ep : layout.expert_stride / replicas;
  groups.expert_data = shape(layout, replicas, per_node_with_stride(layout, replicas, replica_stride));

  const int shard = std::clamp(scenario.shard_size, 1, groups.data.size);
  const int shard_inside = std::min(shard, groups.data.per_node);
  groups.shard = shape(layout, shard, shard_inside);
  groups.replicate = shape(layout, groups.data.size / shard, groups.data.per_node / shard_inside);
  return groups;
}

StagePlacement placement_of(const Scenario& scenario) {
  const Layout layout = layout_of(scenario);
  StagePlacement placement;
  const int stages = scenario.degrees.pp;
  placement.node.resize(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    // A stage that fills whole nodes has one of its own; smaller ones share a node with their neighbours.
    const bool own = layout.inside[kPipeline] == 1;
    placement.node[stage] = own ? stage : stage * layout.stride[kPipeline] / layout.devices_per_node;
  }
  placement.nodes = placement.node.back() + 1;
  placement.ranks_per_node = layout.side_by_side;
  return placement;
}

}  // namespace stepcast
