#pragma once

#include <span>
#include <vector>

namespace stepcast {

/// Levels of a binary tree over so many nodes: ⌈log2⌉.
int tree_levels(int nodes);

/// Parent of a node in one half of a double binary tree over `nodes` nodes, −1 for its root. Inner nodes of one half
/// are leaves of the other, so that each carries about the same. Source: Sanders, Speck & Träff 2009, as NCCL builds
/// it (src/graph/trees.cc).
int tree_parent(int half, int node, int nodes);

/// What the busiest node of NCCL's double binary tree sends in an all_reduce, in buffers: every node is an inner node
/// of at most one of the two trees, each of which carries half of the buffer up and down. 1 for two nodes, 2 from some
/// number of nodes on, whatever the number. Source: Sanders, Speck & Träff 2009; NCCL 2.4, double binary trees.
double double_tree_load(int nodes);

/// The same, counted node by node over the trees themselves; nodes ≥ 2. Takes time in proportion to the nodes.
double counted_double_tree_load(int nodes);

/// What each node sends out of its member of a fabric level in an all_reduce by a double tree over nodes, in what the
/// busiest node sends in all. `members`: which one each node is in, in the order of the tree.
std::vector<double> double_tree_crossings(std::span<const int> members);
/// The same of all nodes of a member together: of the one that sends most.
double double_tree_uplinks(std::span<const int> members);

}  // namespace stepcast
