#include "models/parallelism/groups.hpp"

#include <algorithm>
namespace stepcast {

namespace {

GroupShape shape(const RankLayout& layout, int size, int per_node) {
  per_node = std::clamp(per_node, 1, size);
  return {size, per_node, std::max(1, layout.side_by_side / per_node)};
}

int per_node_with_stride(const RankLayout& layout, int size, int stride) {
  return std::clamp(layout.devices_per_node / std::max(1, stride), 1, size);
}

}  // namespace

Groups groups_of(const RankLayout& layout) {
  const int tp = layout.degree(Axis::tensor);
  const int cp = layout.degree(Axis::context);
  const int pp = layout.degree(Axis::pipeline);
  const int ep = layout.experts;
  Groups groups;
  groups.tensor = shape(layout, tp, layout.in_node(Axis::tensor));
  groups.context = shape(layout, cp, layout.in_node(Axis::context));
  groups.pipeline = shape(layout, pp, layout.in_node(Axis::pipeline));
  groups.data =
      shape(layout, layout.degree(Axis::data) * cp, layout.in_node(Axis::data) * layout.in_node(Axis::context));

  groups.expert = shape(layout, ep, per_node_with_stride(layout, ep, layout.expert_stride));
  const int replicas = groups.data.size * (layout.experts_over_tensor ? tp : 1) / ep;
  const int replica_stride = layout.expert_before_data ? layout.expert_stride * ep : layout.expert_stride / replicas;
  groups.expert_data = shape(layout, replicas, per_node_with_stride(layout, replicas, replica_stride));

  const int shard_inside = std::min(layout.shard, groups.data.per_node);
  groups.shard = shape(layout, layout.shard, shard_inside);
  groups.replicate = shape(layout, groups.data.size / layout.shard, groups.data.per_node / shard_inside);
  return groups;
}

bool straddles_nodes(const RankLayout& layout) {
  const int node = layout.devices_per_node;
  for (std::size_t axis = 0; axis < RankLayout::kAxes; ++axis) {
    const int block = layout.strides[axis] * layout.degrees[axis];
    if (block < layout.devices() && node % block != 0 && block % node != 0) return true;
  }
  return false;
}

const GroupShape& group_of(const Groups& groups, Dimension dimension) {
  switch (dimension) {
    case Dimension::context:
      return groups.context;
    case Dimension::expert:
      return groups.expert;
    case Dimension::data:
      return groups.data;
    default:
      return groups.tensor;
  }
}

StagePlacement placement_of(const RankLayout& layout) {
  StagePlacement placement;
  const int stages = layout.degree(Axis::pipeline);
  placement.node.resize(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    // A stage that fills whole nodes has one of its own; smaller ones share a node with their neighbours.
    const bool own = layout.in_node(Axis::pipeline) == 1;
    placement.node[stage] = own ? stage : layout.node_of(layout.first_rank(stage));
  }
  placement.nodes = placement.node.back() + 1;
  placement.ranks_per_node = layout.side_by_side;
  return placement;
}

}  // namespace stepcast
