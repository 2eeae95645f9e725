#include "models/collectives/double_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace stepcast {

namespace {

/// In a binary tree whose leaves are the odd numbers: the parent's lowest set bit is one above one's own.
int parent(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

/// Calls `visit` with both ends of every edge of both halves: each carries half of the buffer up for the sum, and half
/// down with the result.
void for_each_edge(int nodes, const auto& visit) {
  for (int half = 0; half < 2; ++half)
    for (int node = 0; node < nodes; ++node)
      if (const int up = tree_parent(half, node, nodes); up >= 0) visit(node, up);
}

constexpr int kCounted = 33;

}  // namespace

int tree_levels(int nodes) { return nodes <= 1 ? 0 : std::bit_width(static_cast<unsigned>(nodes - 1)); }

int tree_parent(int half, int node, int nodes) {
  if (half == 0) return parent(node, nodes);
  // The other half is the first one mirrored, or moved on by one where mirroring would leave the middle in place.
  if (nodes % 2 == 0) {
    const int mirrored = parent(nodes - 1 - node, nodes);
    return mirrored < 0 ? -1 : nodes - 1 - mirrored;
  }
  const int moved = parent((node + nodes - 1) % nodes, nodes);
  return moved < 0 ? -1 : (moved + 1) % nodes;
}

double counted_double_tree_load(int nodes) {
  std::vector<double> sent(static_cast<std::size_t>(nodes), 0.0);
  for_each_edge(nodes, [&](int a, int b) {
    sent[static_cast<std::size_t>(a)] += 0.5;
    sent[static_cast<std::size_t>(b)] += 0.5;
  });
  return *std::max_element(sent.begin(), sent.end());
}

std::vector<double> double_tree_crossings(std::span<const int> members) {
  const auto nodes = static_cast<int>(members.size());
  std::vector<double> sent(members.size(), 0.0);
  if (nodes < 2) return sent;
  const double edge = 0.5 / double_tree_load(nodes);
  for_each_edge(nodes, [&](int from, int to) {
    const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
    if (members[a] == members[b]) return;
    sent[a] += edge;
    sent[b] += edge;
  });
  return sent;
}

double double_tree_uplinks(std::span<const int> members) {
  if (members.empty()) return 0;
  const std::vector<double> sent = double_tree_crossings(members);
  std::vector<double> of_member(static_cast<std::size_t>(*std::max_element(members.begin(), members.end())) + 1, 0.0);
  for (std::size_t node = 0; node < members.size(); ++node)
    of_member[static_cast<std::size_t>(members[node])] += sent[node];
  return *std::max_element(of_member.begin(), of_member.end());
}

double double_tree_load(int nodes) {
  static const std::array<double, kCounted> kLoads = [] {
    std::array<double, kCounted> loads{};
    for (int n = 2; n < kCounted; ++n) loads[static_cast<std::size_t>(n)] = counted_double_tree_load(n);
    return loads;
  }();
  // From a handful of nodes on some node has two children and a parent in one tree and is a leaf of the other.
  return kLoads[static_cast<std::size_t>(std::clamp(nodes, 0, kCounted - 1))];
}

}  // namespace stepcast
