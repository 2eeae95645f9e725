#include "models/collectives/double_tree.hpp"

#include <gtest/gtest.h>

namespace stepcast::double_tree_test {
namespace {

TEST(DoubleTree, BetweenTwoNodesEachSendsTheBufferOnce) {
  // Each is the root of one tree (its half down) and the leaf of the other (its half up): what lets bus bandwidth pass
  // the wire on two nodes, where a ring sends 2(n − 1)/n of the buffer.
  EXPECT_DOUBLE_EQ(double_tree_load(2), 1);
}

TEST(DoubleTree, BusiestNodeOfManySendsTheBufferTwice) {
  // One node has a parent and two children in one tree (3 halves) and is a leaf of the other (1 half).
  for (const int nodes : {8, 16, 27, 32, 33, 100, 1024}) EXPECT_DOUBLE_EQ(double_tree_load(nodes), 2) << nodes;
}

TEST(DoubleTree, FigureForManyIsWhatTheTreesThemselvesGive) {
  for (int nodes = 2; nodes <= 300; ++nodes)
    EXPECT_DOUBLE_EQ(double_tree_load(nodes), counted_double_tree_load(nodes)) << nodes;
}

// Edges of NCCL's trees counted by hand, over nodes on leaves of four: each takes half of the buffer out of either end.
TEST(DoubleTree, LeavesALeafAsOftenAsItsEdges) {
  for (const auto& [nodes, halves] : {std::pair(16, 6), {15, 10}, {14, 8}, {13, 10}, {8, 4}}) {
    std::vector<int> leaves;
    for (int node = 0; node < nodes; ++node) leaves.push_back(node / 4);
    EXPECT_DOUBLE_EQ(double_tree_uplinks(leaves) * double_tree_load(nodes) * 2, halves) << nodes;
  }
  EXPECT_DOUBLE_EQ(double_tree_uplinks(std::vector{0, 0, 0, 0}), 0);
  EXPECT_DOUBLE_EQ(double_tree_uplinks(std::vector{0, 1}), 1);
}

TEST(DoubleTree, LevelsAreTheLogarithmRoundedUp) {
  EXPECT_EQ(tree_levels(1), 0);
  EXPECT_EQ(tree_levels(2), 1);
  EXPECT_EQ(tree_levels(3), 2);
  EXPECT_EQ(tree_levels(1024), 10);
  EXPECT_EQ(tree_levels(1025), 11);
}

}  // namespace
}  // namespace stepcast::double_tree_test
