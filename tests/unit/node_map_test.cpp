// Where nodes lie in a fabric, and what a group's traffic sends over the up-links: worked by hand.
#include "models/parallelism/node_map.hpp"

#include <gtest/gtest.h>

#include "models/parallelism/job.hpp"
#include "models/parallelism/shared_cluster.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::node_map_test {
namespace {

using test::catalog;

/// 16 nodes of eight GPUs, four on a leaf whose up-links carry half of their traffic.
Json document(const std::string& placement) {
  return {{"cluster",
           {{"node", "dgx-h100"},
            {"nodes", 16},
            {"fabric",
             {{"preset", "fat-tree"}, {"oversubscription", 2}, {"nodes_per_leaf", 4}, {"placement", placement}}}}},
          {"workload", {{"model", "llama3-8b"}, {"global_batch", 128}}},
          {"strategy", {{"framework", "megatron-lm"}, {"tensor_parallel", 8}}}};
}

Scenario scenario(const Json& json) { return resolve(json, "test", {}, catalog()); }

// A ring over 16 packed nodes leaves each leaf of four once: one node's traffic, where the up-links carry two's. Nodes
// dealt over the four leaves in turn have all their neighbours elsewhere: four nodes' traffic. An exchange of all pairs
// meets 12 of its 15 peers outside in either case: 4 · 12 / 15 = 3.2.
TEST(NodeMap, RingLeavesALeafOnce) {
  for (const auto& [placement, ring] : {std::pair("packed", 1.0), std::pair("scattered", 4.0)}) {
    const Scenario s = scenario(document(placement));
    const Job job = lower(s);
    ASSERT_GE(job.nodes.levels(), 1U);
    EXPECT_TRUE(job.nodes.limits(0));
    EXPECT_EQ(job.nodes.fabric().levels[0].nodes, 4);
    EXPECT_NEAR(job.groups.data.above[0].ring, ring, 1e-6) << placement;
    EXPECT_NEAR(job.groups.data.above[0].direct, 3.2, 1e-6) << placement;
    EXPECT_EQ(job.groups.data.above[0].crossings, ring == 1 ? 4 : 16) << placement;
  }
}

// A listed order counts as the placement does that deals out the same nodes.
TEST(NodeMap, AListedOrderIsAPlacement) {
  const Scenario scattered = scenario(document("scattered"));
  Json json = document("packed");
  json["cluster"]["fabric"]["node_order"] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const Scenario listed = scenario(json);
  const Job dealt = lower(scattered), ordered = lower(listed);
  for (int node = 0; node < 16; ++node) EXPECT_EQ(ordered.nodes.member(0, node), dealt.nodes.member(0, node)) << node;
  EXPECT_EQ(ordered.groups.data.above[0].ring, dealt.groups.data.above[0].ring);
  EXPECT_EQ(ordered.groups.data.above[0].crossings, 16);
}

// Nothing says that a list is regular: here only the last leaf but one is left at every step.
TEST(NodeMap, AListedOrderCountsEveryLeaf) {
  Json json = document("packed");
  json["cluster"]["fabric"]["node_order"] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 5, 6, 7, 12, 13, 14, 15};
  const Scenario s = scenario(json);
  EXPECT_NEAR(lower(s).groups.data.above[0].ring, 4, 1e-6);
}

// 13 nodes on leaves of four: the last leaf has one, and no node is in a leaf that has no place for it.
TEST(NodeMap, ScatteredNodesOfAPartialLeafExist) {
  Json json = document("scattered");
  json["cluster"]["nodes"] = 13;
  json["workload"]["global_batch"] = 130;
  const Scenario s = scenario(json);
  const Job job = lower(s);
  std::array<int, 4> count{};
  for (int node = 0; node < 13; ++node) ++count.at(job.nodes.member(0, node));
  EXPECT_EQ(count, (std::array{4, 4, 4, 1}));
}

// Eight of sixteen nodes on leaves of four: the second half is two leaves of its own; every second node is two of each.
TEST(NodeMap, ScatteredDealsAJobsOwnNodesAlone) {
  Json json = document("scattered");
  json["cluster"]["nodes"] = 8;
  const Scenario s = scenario(json);
  const Job half = lower(s, JobNodes{8, 1, 16});
  for (int node = 0; node < 8; ++node) EXPECT_EQ(half.nodes.member(0, node), 2 + node % 2) << node;
  const Job every_other = lower(s, JobNodes{1, 2, 16});
  for (int node = 0; node < 8; ++node) EXPECT_EQ(every_other.nodes.member(0, node), node % 4) << node;
}

// Two nodes' worth of up-links for the four nodes' worth of a scattered ring: half the rate of a NIC, of which each of
// the node's eight ranks has one. A packed ring is not held up.
TEST(NodeMap, UpLinksLimitTheRateOfAGroup) {
  const Scenario packed = scenario(document("packed"));
  const Scenario scattered = scenario(document("scattered"));
  const Job near = lower(packed);
  const Job far = lower(scattered);
  const BytesPerSecond nic = near.interconnect.nic;
  EXPECT_NEAR(near.interconnect.network_rate(near.groups.data) / nic, 1, 1e-6);
  EXPECT_NEAR(far.interconnect.network_rate(far.groups.data) / nic, 0.5, 1e-6);
  // All pairs: 2 / 3.2 of the rate.
  EXPECT_NEAR(near.interconnect.network_rate(near.groups.data, MessagePattern::direct) / nic, 2 / 3.2, 1e-6);
}

TEST(NodeMap, AFullFabricLimitsNothing) {
  Json json = document("packed");
  json["cluster"]["fabric"]["oversubscription"] = 1;
  const Scenario s = scenario(json);
  EXPECT_FALSE(lower(s).nodes.any_limits());
}

// Hashed flows collide: the worst link of a leaf carries more than its share, and the seed decides how much.
TEST(NodeMap, HashedFlowsCollideBySeed) {
  Json json = document("scattered");
  const Scenario even = scenario(json);
  json["cluster"]["fabric"]["routing"] = "ecmp";
  const Scenario hashed = scenario(json);
  const float ring = lower(hashed).groups.data.above[0].ring;
  EXPECT_GT(ring, lower(even).groups.data.above[0].ring);
  EXPECT_EQ(ring, lower(hashed).groups.data.above[0].ring);
  bool differs = false;
  for (int seed = 2; seed < 12; ++seed) {
    json["run"]["seed"] = seed;
    const Scenario other = scenario(json);
    differs = differs || lower(other).groups.data.above[0].ring != ring;
  }
  EXPECT_TRUE(differs);
}

// Four stages of four nodes each, one leaf a stage: a message always leaves its leaf, with all four nodes' traffic.
TEST(NodeMap, MessagesBetweenStagesOnDifferentLeaves) {
  Json json = document("packed");
  json["strategy"]["pipeline_parallel"] = 4;
  const Scenario s = scenario(json);
  const Job job = lower(s);
  GroupShape pair{2, 1, 8};
  job.nodes.load_message(pair, 0, 1);
  EXPECT_NEAR(pair.above[0].ring, 4, 1e-6);
  EXPECT_EQ(pair.above[0].crossings, 1);
}

// Two jobs of 6 nodes on leaves of 4: interleaved, nodes 0, 2, 4 … belong to the first; apart, the second begins at the
// third leaf. Data parallel over 6 nodes, the batch is a multiple of 6 replicas.
TEST(SharedCluster, NodesOfJobs) {
  Json json = document("packed");
  json["cluster"]["nodes"] = 6;
  json["workload"]["global_batch"] = 126;
  const std::vector<Scenario> jobs{scenario(json), scenario(json)};
  const auto mixed = place_jobs(jobs, JobMixing::interleaved);
  EXPECT_EQ(mixed[1].first, 1);
  EXPECT_EQ(mixed[1].step, 2);
  EXPECT_EQ(mixed[1].of, 12);
  const auto apart = place_jobs(jobs, JobMixing::apart);
  EXPECT_EQ(apart[1].first, 8);
  EXPECT_EQ(apart[1].of, 16);
}

}  // namespace
}  // namespace stepcast::node_map_test
