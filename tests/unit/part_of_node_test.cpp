#include "hardware-catalog/part_of_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"

// A job on some of a node's accelerators: "dgx-h100-4-of-8".
namespace stepcast::part_of_node_test {
namespace {

using test::catalog;

const Node* node(const std::string& id) { return catalog().find<Node>(id); }

TEST(PartOfNode, IsNamedByItsShare) {
  const auto name = node_part_name("dgx-h100-4-of-8");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->node, "dgx-h100");
  EXPECT_EQ(name->used, 4);
  EXPECT_EQ(name->all, 8);
  for (const char* other : {"dgx-h100", "dgx-h100-8-of-8", "dgx-h100-0-of-8", "-4-of-8", "4-of-8", "dgx-h100-of-8",
                            "dgx-h100-4-of-99999999999999", ""})
    EXPECT_FALSE(node_part_name(other)) << other;
}

// Half of eight GPUs with eight NICs of 400 Gb/s, on a switch that each has 18 links to; the host is theirs.
TEST(PartOfNode, HasItsAcceleratorsNicsAndTheHost) {
  const Node *whole = node("dgx-h100"), *half = node("dgx-h100-4-of-8");
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(half->id, "dgx-h100-4-of-8");
  EXPECT_EQ(half->devices(), 4);
  EXPECT_EQ(half->training_nics(), whole->training_nics() / 2);
  EXPECT_EQ(half->interconnect.kind, NodeTopology::nvswitch);
  EXPECT_EQ(half->interconnect.links_per_accelerator, 18);
  EXPECT_EQ(half->memory, whole->memory);
  EXPECT_EQ(half->price_like, "dgx-h100");
  const Node* one = node("dgx-h100-1-of-8");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->interconnect.kind, NodeTopology::single);
  EXPECT_EQ(one->training_nics(), 1);
}

// DGX-1's first four GPUs: all pairs of them, with one link or two.
TEST(PartOfNode, KeepsTheLinksAmongThem) {
  const Node* half = node("dgx-1-v100-16gb-4-of-8");
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(half->interconnect.links.size(), 6U);
  EXPECT_EQ(node("server-4xmi210-2-of-4")->interconnect.kind, NodeTopology::pair);
}

// Trays of four: two of eighteen have a ninth of the rack's processors and memory.
TEST(PartOfNode, OfARackIsItsTrays) {
  const Node *rack = node("gb200-nvl72"), *two = node("gb200-nvl72-8-of-72");
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(two->cpu_count, rack->cpu_count / 9);
  EXPECT_DOUBLE_EQ(two->memory.value(), rack->memory.value() / 9);
  EXPECT_EQ(two->figures.at("compute_trays"), 2);
  EXPECT_EQ(node("gb200-nvl72-6-of-72"), nullptr);
}

TEST(PartOfNode, IsThereWhereTheNodeIs) {
  EXPECT_EQ(node("dgx-h100-4-of-16"), nullptr);
  EXPECT_EQ(node("no-such-node-4-of-8"), nullptr);
  EXPECT_EQ(node("tpu-v4-host-2-of-4"), nullptr);  // a torus
  EXPECT_EQ(catalog().find<Accelerator>("dgx-h100-4-of-8"), nullptr);
  EXPECT_EQ(catalog().kind_of("dgx-h100-4-of-8"), "nodes");
  EXPECT_EQ(catalog().kind_of("dgx-h100-4-of-16"), "");
  EXPECT_EQ(catalog().show("nodes", "dgx-h100-2-of-8")["accelerator_count"], 2);
  EXPECT_EQ(catalog().file_of("nodes", "dgx-h100-2-of-8").filename(), "dgx-h100.json");
  EXPECT_TRUE(catalog().file_of("nodes", "dgx-h100-4-of-16").empty());
}

TEST(PartOfNode, RunsAScenario) {
  const Json document{{"cluster", {{"node", "dgx-h100-2-of-8"}, {"nodes", 4}}},
                      {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 64}}},
                      {"strategy", {{"framework", "pytorch-ddp"}, {"micro_batch", 1}}}};
  EXPECT_EQ(resolve(document, "test", {}, catalog()).devices(), 8);
}

}  // namespace
}  // namespace stepcast::part_of_node_test
