#include "models/collectives/double_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace stepcast {

namespace {

/// Parent of a node in NCCL's binary tree over 0 … nodes − 1 (its lowest set bit moves up); −1 for the root 0.
int parent_of(int node, int nodes) {
  if (node == 0) return -1;
  int bit = 1;
  while ((node & bit) == 0) bit <<= 1;
  int up = (node ^ bit) | (bit << 1);
  if (up >= nodes) up = node ^ bit;
  return up;
}

/// Links from a node to its parent and children.
void add_links(std::vector<double>& sent, int nodes, const auto& place) {
  for (int node = 0; node < nodes; ++node) {
    const int up = parent_of(node, nodes);
    if (up < 0) continue;
    // Half of the buffer up for the sum, half down with the result.
    sent[static_cast<std::size_t>(place(node))] += 0.5;
    sent[static_cast<std::size_t>(place(up))] += 0.5;
  }
}

constexpr int kCounted = 33;

}  // namespace

int tree_levels(int nodes) { return nodes <= 1 ? 0 : std::bit_width(static_cast<unsigned>(nodes - 1)); }

double counted_double_tree_load(int nodes) {
  std::vector<double> sent(static_cast<std::size_t>(nodes), 0.0);
  add_links(sent, nodes, [](int node) { return node; });
  // The second tree: mirrored over an even number of nodes, shifted by one over an odd number.
  if (nodes % 2 == 0) {
    add_links(sent, nodes, [&](int node) { return nodes - 1 - node; });
  } else {
    add_links(sent, nodes, [&](int node) { return (node + 1) % nodes; });
  }
  return *std::max_element(sent.begin(), sent.end());
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
