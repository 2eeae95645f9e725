#include "sim/rank_graph/group_place.hpp"

#include <algorithm>
#include <map>

#include "models/collectives/double_tree.hpp"

namespace stepcast {

namespace {

/// Ranks of a list on each of its nodes, in order of nodes.
std::map<int, int> nodes_of(std::span<const int> ranks, const GraphCluster& cluster) {
  std::map<int, int> out;
  for (const int rank : ranks) ++out[cluster.node_of(rank)];
  return out;
}

/// What one list adds to the load of a member of a level, in ranks' traffic.
void add_load(LevelLoad& load, const std::map<int, int>& nodes, const GraphCluster& cluster, std::size_t level,
              int member) {
  if (nodes.size() < 2) return;
  int inside = 0;
  for (const auto& [node, ranks] : nodes) inside += cluster.member(level, node) == member;
  std::vector<int> members;
  members.reserve(nodes.size());
  for (const auto& [node, ranks] : nodes) members.push_back(cluster.member(level, node));
  load.tree += static_cast<float>(nodes.begin()->second * double_tree_uplinks(members));
  const auto count = static_cast<double>(nodes.size());
  for (auto at = nodes.begin(); at != nodes.end(); ++at) {
    const auto next = std::next(at) == nodes.end() ? nodes.begin() : std::next(at);
    const bool leaves = cluster.member(level, at->first) != cluster.member(level, next->first);
    if (cluster.member(level, at->first) != member) continue;
    if (leaves) load.ring += static_cast<float>(at->second);
    load.direct += static_cast<float>(at->second * (count - inside) / (count - 1));
  }
}

int crossings(const std::map<int, int>& nodes, const GraphCluster& cluster, std::size_t level) {
  int out = 0;
  for (auto at = nodes.begin(); at != nodes.end(); ++at) {
    const auto next = std::next(at) == nodes.end() ? nodes.begin() : std::next(at);
    out += cluster.member(level, at->first) != cluster.member(level, next->first);
  }
  return out;
}

}  // namespace

GroupShape place_group(const RankIndex& index, const GraphCluster& cluster, int group, int list) {
  const auto ranks = index.members(group, list);
  const std::map<int, int> nodes = nodes_of(ranks, cluster);
  GroupShape out;
  out.size = static_cast<int>(ranks.size());
  out.per_node = (out.size + static_cast<int>(nodes.size()) - 1) / static_cast<int>(nodes.size());
  const int lists = group == 0 ? 1 : static_cast<int>(index.graph().groups[group - 1].members.size());
  const int node = nodes.begin()->first;
  int on_node = 0;  // ranks of all lists on the first node
  std::vector<std::map<int, int>> all;
  for (int other = 0; other < lists; ++other) {
    all.push_back(nodes_of(index.members(group, other), cluster));
    if (const auto here = all.back().find(node); here != all.back().end()) on_node += here->second;
  }
  out.groups_per_node = std::max(1, on_node / out.per_node);
  for (std::size_t level = 0; level < std::min(cluster.levels.levels.size(), kFabricLevels); ++level) {
    LevelLoad& load = out.above[level];
    const int member = cluster.member(level, node);
    for (const auto& of_list : all) add_load(load, of_list, cluster, level, member);
    load.ring /= static_cast<float>(on_node);
    load.tree /= static_cast<float>(on_node);
    load.direct /= static_cast<float>(on_node);
    load.crossings = crossings(nodes, cluster, level);
  }
  return out;
}

}  // namespace stepcast
