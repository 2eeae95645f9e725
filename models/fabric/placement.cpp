#include "models/fabric/placement.hpp"

namespace stepcast {

std::vector<int> place_nodes(const FabricSpec& spec, const FabricLevels& levels, int nodes) {
  if (!spec.node_order.empty()) return spec.node_order;
  if (spec.placement == FabricPlacement::packed || levels.levels.empty()) return {};
  const int group = levels.levels.front().nodes;
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(nodes));
  for (int place = 0; place < group; ++place)
    for (int node = place; node < nodes; node += group) order.push_back(node);
  return order;
}

int nodes_together(const std::vector<int>& order, int group_nodes, int first, int count, int stride) {
  const auto node_of = [&](int i) { return order.empty() ? i : order[static_cast<std::size_t>(i)]; };
  int together = 0;
  for (int i = 0; i < count; ++i)
    if (node_of(first + i * stride) / group_nodes == node_of(first) / group_nodes) ++together;
  return together;
}

}  // namespace stepcast
