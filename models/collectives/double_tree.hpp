#pragma once

namespace stepcast {

/// Levels of a binary tree over so many nodes: ⌈log2⌉.
int tree_levels(int nodes);

/// What the busiest node of NCCL's double binary tree sends in an all_reduce, in buffers: every node is an inner node
/// of at most one of the two trees, each of which carries half of the buffer up and down. 1 for two nodes, 2 from some
/// number of nodes on, whatever the number. Source: Sanders, Speck & Träff 2009; NCCL 2.4, double binary trees.
double double_tree_load(int nodes);

/// The same, counted node by node over the trees themselves; nodes ≥ 2. Takes time in proportion to the nodes.
double counted_double_tree_load(int nodes);

}  // namespace stepcast
