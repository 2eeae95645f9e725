#include "models/fabric/placement.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {

namespace {

/// Ascending nodes, the first of each group, then the second of each, and so on.
std::vector<int> dealt(const std::vector<int>& nodes, int group) {
  std::vector<std::pair<int, int>> turns;
  turns.reserve(nodes.size());
  int turn = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    turn = i > 0 && nodes[i] / group == nodes[i - 1] / group ? turn + 1 : 0;
    turns.emplace_back(turn, nodes[i]);
  }
  std::sort(turns.begin(), turns.end());
  std::vector<int> out;
  out.reserve(nodes.size());
  for (const auto& [at, node] : turns) out.push_back(node);
  return out;
}

}  // namespace

std::vector<int> place_nodes(const FabricSpec& spec, const FabricLevels& levels, int nodes, int first, int step) {
  const bool in_order = spec.node_order.empty() && (spec.placement == FabricPlacement::packed || levels.levels.empty());
  if (in_order && first == 0 && step == 1) return {};
  std::vector<int> own;
  own.reserve(static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i)
    own.push_back(first + step * (spec.node_order.empty() ? i : spec.node_order[static_cast<std::size_t>(i)]));
  if (in_order || !spec.node_order.empty()) return own;
  return dealt(own, levels.together());
}

}  // namespace stepcast
