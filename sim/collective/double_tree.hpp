#pragma once

namespace stepcast {

/// Parent of a node in one half of a double binary tree over `nodes` nodes, −1 for its root. Inner nodes of one half
/// are leaves of the other, so that each carries about the same. Source: Sanders, Speck & Träff 2009, as NCCL builds
/// it (src/graph/trees.cc).
int tree_parent(int half, int node, int nodes);

}  // namespace stepcast
