#include "sim/collective/double_tree.hpp"

namespace stepcast {

namespace {

/// In a binary tree whose leaves are the odd numbers: the parent's lowest set bit is one above one's own.
int parent(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

}  // namespace

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

}  // namespace stepcast
