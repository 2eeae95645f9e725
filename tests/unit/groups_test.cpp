#include "models/parallelism/groups.hpp"

#include <gtest/gtest.h>

namespace stepcast::groups_test {
namespace {

struct Layout {
  Node node;
  Scenario scenario;
};

std::unique_ptr<Layout> layout(int devices_per_node, Degrees degrees, std::string order = "tp-cp-ep-dp-pp") {
  auto made = std::make_unique<Layout>();
  made->node.accelerator_count = devices_per_node;
  made->scenario.node = &made->node;
  made->scenario.degrees = degrees;
  made->scenario.spec.strategy.order = std::move(order);
  made->scenario.spec.cluster.nodes = degrees.devices() / devices_per_node;
  return made;
}

// 1,024 GPUs, 8 a node: a tensor group fills a node, so each data group has one rank on a node and eight run side by
// side.
TEST(Groups, TensorGroupsThatFillANode) {
  const auto made = layout(8, {.tp = 8, .dp = 8, .pp = 16});
  const Groups groups = groups_of(rank_layout(made->scenario));
  EXPECT_EQ(groups.tensor.per_node, 8);
  EXPECT_EQ(groups.data.size, 8);
  EXPECT_EQ(groups.data.per_node, 1);
  EXPECT_EQ(groups.data.groups_per_node, 8);
  const StagePlacement placement = placement_of(rank_layout(made->scenario));
  EXPECT_EQ(placement.nodes, 16);
  EXPECT_EQ(placement.ranks_per_node, 8);
  EXPECT_TRUE(placement.crosses(0, 1));
}

TEST(Groups, SmallStagesShareANode) {
  const auto made = layout(8, {.tp = 2, .dp = 1, .pp = 8});
  const StagePlacement placement = placement_of(rank_layout(made->scenario));
  EXPECT_EQ(placement.ranks_per_node, 2);
  EXPECT_FALSE(placement.crosses(0, 3));
  EXPECT_TRUE(placement.crosses(3, 4));
  EXPECT_EQ(placement.nodes, 2);
}

TEST(Groups, DataGroupsInsideANode) {
  const auto made = layout(8, {.tp = 2, .dp = 8, .pp = 1});
  const Groups groups = groups_of(rank_layout(made->scenario));
  EXPECT_EQ(groups.data.per_node, 4);
  EXPECT_EQ(groups.data.groups_per_node, 2);
  EXPECT_EQ(groups.data.nodes(), 2);
}

// Pipeline ranks before data ranks: neighbours in the pipeline lie side by side, data peers far apart.
TEST(Groups, OrderMovesDimensions) {
  const auto made = layout(8, {.tp = 2, .dp = 8, .pp = 4}, "tp-cp-ep-pp-dp");
  EXPECT_EQ(groups_of(rank_layout(made->scenario)).data.per_node, 1);
  EXPECT_FALSE(placement_of(rank_layout(made->scenario)).crosses(0, 3));
}

// Expert ranks are neighbours within the data ranks, as Megatron places them: 8 experts over 8 GPUs stay in the node.
TEST(Groups, ExpertsLieInsideDataParallelism) {
  const auto made = layout(8, {.tp = 1, .ep = 8, .dp = 64, .pp = 1});
  const Groups groups = groups_of(rank_layout(made->scenario));
  EXPECT_EQ(groups.expert.per_node, 8);
  EXPECT_EQ(groups.expert_data.size, 8);
  EXPECT_EQ(groups.expert_data.per_node, 1);
}

// Whole experts on tensor ranks: expert groups lie over all ranks of a stage, so that 32 over 8 GPUs a node take 4
// nodes, and with 2 x 16 ranks there is one of each expert. Ranks as Megatron numbers them: tensor innermost.
TEST(Groups, WholeExpertsLieOverTensorRanks) {
  const auto made = layout(8, {.tp = 2, .ep = 32, .dp = 16, .pp = 2, .etp = 1});
  const RankLayout whole = rank_layout(made->scenario);
  const Groups groups = groups_of(whole);
  EXPECT_EQ(groups.expert.size, 32);
  EXPECT_EQ(groups.expert.per_node, 8);
  EXPECT_EQ(groups.expert_data.size, 1);
  EXPECT_EQ(groups.data.size, 16);

  made->scenario.degrees.ep = 8;
  const RankLayout smaller = rank_layout(made->scenario);
  EXPECT_EQ(groups_of(smaller).expert_data.size, 4);
  EXPECT_EQ(smaller.group(GroupKind::expert, 11), (std::vector{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(smaller.group(GroupKind::expert_data, 11), (std::vector{3, 11, 19, 27}));
  EXPECT_EQ(smaller.group(GroupKind::data, 11), whole.group(GroupKind::data, 11));
  made->scenario.degrees.etp = 2;
  EXPECT_EQ(rank_layout(made->scenario).group(GroupKind::expert, 11), (std::vector{1, 3, 5, 7, 9, 11, 13, 15}));
}

// With data before experts in the order, the ranks of an expert group lie a stage's replicas apart.
TEST(Groups, WholeExpertsAfterDataRanks) {
  const auto made = layout(8, {.tp = 2, .ep = 4, .dp = 8, .pp = 1, .etp = 1}, "tp-cp-dp-ep-pp");
  const RankLayout spread = rank_layout(made->scenario);
  EXPECT_EQ(spread.group(GroupKind::expert, 5), (std::vector{1, 5, 9, 13}));
  EXPECT_EQ(spread.group(GroupKind::expert_data, 5), (std::vector{4, 5, 6, 7}));
  EXPECT_EQ(groups_of(spread).expert.per_node, 2);
  EXPECT_EQ(groups_of(spread).expert_data.per_node, 4);
}

TEST(Groups, HybridShardingSplitsTheDataGroup) {
  const auto made = layout(8, {.dp = 64});
  made->scenario.shard_size = 8;
  const Groups groups = groups_of(rank_layout(made->scenario));
  EXPECT_EQ(groups.shard.size, 8);
  EXPECT_EQ(groups.shard.per_node, 8);
  EXPECT_EQ(groups.replicate.size, 8);
  EXPECT_EQ(groups.replicate.per_node, 1);
  EXPECT_EQ(groups.replicate.groups_per_node, 8);
}

// Three ranks a stage on nodes of four: the second stage has one on the first node and two on the next.
TEST(Straddling, IsGroupsThatNeitherDivideANodeNorFillIt) {
  RankLayout layout;
  layout.devices_per_node = 4;
  layout.degrees = {1, 1, 3, 4};
  layout.strides = {1, 1, 1, 3};
  EXPECT_TRUE(straddles_nodes(layout));
  layout.degrees = {1, 1, 4, 4};
  layout.strides = {1, 1, 1, 4};
  EXPECT_FALSE(straddles_nodes(layout));
  layout.degrees = {2, 1, 8, 3};
  layout.strides = {1, 1, 2, 16};
  EXPECT_FALSE(straddles_nodes(layout));
}

}  // namespace
}  // namespace stepcast::groups_test
