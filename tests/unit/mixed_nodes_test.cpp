// Clusters of several kinds of nodes: which kind decides what, and what no fabric joins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/estimate.hpp"
#include "models/parallelism/job.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/reliability/checkpoint.hpp"
#include "models/scenario/node_kinds.hpp"
#include "models/storage/input_pipeline.hpp"
#include "models/storage/rates.hpp"
#include "models/storage/storage.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::mixed_nodes_test {
namespace {

using test::catalog;
using testing::HasSubstr;

/// Eight A100 with a NIC of 200 Gb/s each; eight H100 that share one; eight V100 with four of 100.
constexpr const char *kA100 = "dgx-a100-80gb", *kOneNic = "template-2x-epyc-7763-8xh100-ib200-512gb",
                     *kV100 = "dgx-1-v100-32gb";

/// Four nodes of `own`, those of `which` of `other` instead.
Json document(const char* own, const char* other, const std::vector<int>& which, Json strategy = Json::object()) {
  strategy["framework"] = "megatron-lm";
  Json out{{"cluster", {{"node", own}, {"nodes", 4}}},
           {"workload", {{"model", "llama3-8b"}, {"global_batch", 32}, {"precision", "fp16"}}},
           {"strategy", std::move(strategy)}};
  if (!which.empty()) out["cluster"]["other_nodes"] = Json::array({{{"node", other}, {"nodes", which}}});
  return out;
}

Scenario scenario(const Json& json) { return resolve(json, "test", {}, catalog()); }

std::string fault_of(const Json& json) {
  try {
    scenario(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// Two nodes share each layer. Wherever they are of two kinds, the layer computes as on the one and sends as from the
// other, whichever of them is the cluster's own.
TEST(MixedNodes, ALayerOverTwoKindsTakesTheWorstOfBoth) {
  const Json over_two{{"tensor_parallel", 16}, {"micro_batch", 1}};
  const Scenario a100 = scenario(document(kA100, "", {}, over_two)),
                 one_nic = scenario(document(kOneNic, "", {}, over_two));
  const Job slow = lower(a100), narrow = lower(one_nic);
  ASSERT_LT(narrow.interconnect.node_network, slow.interconnect.node_network);
  for (const bool own_is_slow : {true, false}) {
    const Scenario mixed =
        scenario(own_is_slow ? document(kA100, kOneNic, {1}, over_two) : document(kOneNic, kA100, {1}, over_two));
    const Job job = lower(mixed);
    ASSERT_EQ(job.fold.classes.size(), 2U);
    const Job& both = job.in_state(job.fold.classes[job.fold.class_of(0)].state[0]);
    EXPECT_EQ(both.scenario->node->id, kA100);
    EXPECT_EQ(both.device.peak, slow.device.peak);
    EXPECT_EQ(both.interconnect.node_network, narrow.interconnect.node_network);
    EXPECT_EQ(both.interconnect.native, std::min(slow.interconnect.native, narrow.interconnect.native));
    const Job& apart = job.in_state(job.fold.classes[job.fold.class_of(1)].state[0]);
    EXPECT_EQ(apart.interconnect.node_network, (own_is_slow ? slow : narrow).interconnect.node_network);
  }
}

/// What every state of nodes runs to make replicas equal.
std::set<std::string> algorithms_of_replicas(const Scenario& scenario) {
  const Job job = lower(scenario);
  std::set<std::string> out;
  for (const ReplicaClass& replicas : job.fold.classes)
    for (const SyncUnit& unit : sync_units(job.in_state(replicas.state.front()), 0))
      out.insert(fmt::format("{} {}", name_of(unit.reduce.algorithm), name_of(unit.reduce.protocol)));
  return out;
}

// NVLS on the one kind and a ring on the other would be two communicators.
TEST(MixedNodes, ACommunicatorOverTwoKindsRunsOneAlgorithm) {
  for (const auto& [own, other] : {std::pair("dgx-h100", "dgx-b200"), std::pair("dgx-b200", "dgx-h100"),
                                   std::pair("dgx-h100", kA100), std::pair(kA100, kV100)})
    for (const int batch : {32, 64, 256}) {
      Json json = document(own, other, {0});
      json["workload"]["global_batch"] = batch;
      EXPECT_EQ(algorithms_of_replicas(scenario(json)).size(), 1U) << own << " " << other << " " << batch;
    }
}

// Tensor parallelism within nodes of both kinds, of which one has switches that add: joined by context parallelism they
// are one replica, and none of its collectives may count on them.
TEST(MixedNodes, SwitchesThatAddOnOneKindAloneAddNowhere) {
  for (const auto& [own, other] :
       {std::pair(kA100, kOneNic), std::pair(kOneNic, kA100), std::pair("dgx-h100", kA100)}) {
    const Json strategy{{"tensor_parallel", 8}, {"context_parallel", 2}, {"micro_batch", 1}};
    const Scenario s = scenario(document(own, other, {1}, strategy));
    EXPECT_GT(estimate(lower(s)).step_time, Seconds(0)) << own;
    EXPECT_LT(estimate(lower(s)).step_time, 10_s) << own;
  }
}

// Replicas that lie on whole nodes meet in their gradients alone, which go at the NICs of those that have fewest.
TEST(MixedNodes, GradientsGoAtTheSlowerKindsNics) {
  const Json whole{{"tensor_parallel", 8}, {"micro_batch", 1}, {"overlap_gradients", false}, {"sharding", "none"}};
  const auto reduced = [](const Json& json) {
    const Scenario s = scenario(json);
    const StepBreakdown step = estimate(lower(s));
    return step
        .communication[static_cast<std::size_t>(CollectiveKind::all_reduce)][static_cast<std::size_t>(Dimension::data)]
        .total;
  };
  const Seconds fast = reduced(document(kA100, "", {}, whole)), slow = reduced(document(kOneNic, "", {}, whole));
  ASSERT_GT(slow, 4 * fast);
  EXPECT_NEAR(reduced(document(kA100, kOneNic, {2}, whole)) / slow, 1, 0.02);
  EXPECT_NEAR(reduced(document(kOneNic, kA100, {2}, whole)) / slow, 1, 0.02);
}

TEST(MixedNodes, OneFabricJoinsThem) {
  EXPECT_THAT(fault_of(document(kA100, "meta-grand-teton", {1})),
              HasSubstr("/cluster/other_nodes/0/node: node \"meta-grand-teton\" has NICs of ethernet_rdma and the "
                        "cluster's \"dgx-a100-80gb\" of infiniband: no fabric joins them"));
  Json stated = document(kA100, "meta-grand-teton", {1});
  stated["cluster"]["fabric"]["network"] = "ethernet_rdma";
  EXPECT_EQ(fault_of(stated), "");
  Json rails = document(kA100, kOneNic, {1});
  rails["cluster"]["fabric"]["preset"] = "rail-optimized";
  EXPECT_THAT(fault_of(rails), HasSubstr("has 1 NICs and the cluster's \"dgx-a100-80gb\" has 8"));
  rails["cluster"]["fabric"]["preset"] = "fat-tree";
  EXPECT_EQ(fault_of(rails), "");
}

// Ports of the cluster's own switches carry 200 Gb/s each: NICs of 400 send no more.
TEST(MixedNodes, FasterNicsAreHeldToThePortsOfTheFabric) {
  const Scenario mixed = scenario(document(kA100, "dgx-h100", {1}));
  EXPECT_NEAR(mixed.other_kinds[0]->nic_bandwidth.in(1_Gbps), 200, 1e-9);
  EXPECT_THAT(mixed.assumptions, testing::Contains(HasSubstr("NICs of dgx-h100 at 200 Gb/s instead of 400")));
  EXPECT_NEAR(scenario(document("dgx-h100", kA100, {1})).other_kinds[0]->nic_bandwidth.in(1_Gbps), 200, 1e-9);
}

// Four NICs of 100 Gb/s fill a fourth of up-links that were made for eight of 200, and eight of those ones that were
// made for four of 100.
TEST(MixedNodes, UpLinksAreHeldUpByTheFasterKind) {
  Json json = document(kV100, "", {});
  json["cluster"]["fabric"] = {{"preset", "fat-tree"}, {"nodes_per_leaf", 2}, {"switch", "qm8700"}};
  const Scenario alike = scenario(json);
  EXPECT_FALSE(lower(alike).nodes.any_limits());
  json["cluster"]["other_nodes"] = Json::array({{{"node", kA100}, {"nodes", {0}}}});
  const Scenario mixed = scenario(json);
  EXPECT_TRUE(lower(mixed).nodes.any_limits());
}

// A forced algorithm is asked about once all kinds are known, and of each of them.
TEST(MixedNodes, AForcedAlgorithmRunsOnEveryKind) {
  const Json tree{{"collective_algorithm", "tree"}, {"sharding", "none"}};
  EXPECT_EQ(fault_of(document(kA100, kV100, {0}, tree)), "");
  EXPECT_EQ(fault_of(document(kV100, kA100, {1, 3}, tree)), "");
  const Json in_switches{{"collective_algorithm", "nvls-tree"}, {"sharding", "none"}};
  EXPECT_EQ(fault_of(document("dgx-h100", "dgx-b200", {0}, in_switches)), "");
  for (const Json& json :
       {document("dgx-h100", kA100, {0}, in_switches), document(kA100, "dgx-h100", {0}, in_switches)})
    EXPECT_THAT(fault_of(json), HasSubstr("/strategy/collective_algorithm: found nvls-tree, but no collective of this "
                                          "job runs by it: the switches of node \"dgx-a100-80gb\" cannot add"));
}

TEST(MixedNodes, WhatIsWrittenIsTheSameScenario) {
  const Scenario mixed = scenario(document(kA100, kOneNic, {1}));
  const Scenario again = scenario(to_json(mixed));
  EXPECT_EQ(again.other_kinds[0]->nics_per_node, 1);
  EXPECT_EQ(again.nics_per_node, 8);
  EXPECT_EQ(estimate(lower(again)).step_time, estimate(lower(mixed)).step_time);
}

/// ResNet-50 over two nodes, each of which reads, prepares and copies half of every batch.
Json images(const char* own, const char* other, const std::vector<int>& which) {
  Json out{{"cluster", {{"node", own}, {"nodes", 2}}},
           {"workload",
            {{"model", "resnet50"}, {"global_batch", 2048}, {"precision", "fp16"}, {"input", {{"decode_ms", 10}}}}},
           {"strategy", {{"framework", "pytorch-ddp"}}}};
  if (!which.empty()) out["cluster"]["other_nodes"] = Json::array({{{"node", other}, {"nodes", which}}});
  return out;
}

TEST(MixedNodes, InputComesAtThePaceOfTheKindThatFeedsSlowest) {
  const Scenario many = scenario(images(kA100, "", {})), few = scenario(images(kV100, "", {}));
  ASSERT_GT(cores_per_node(many), 2 * cores_per_node(few));
  for (const Json& json : {images(kA100, kV100, {1}), images(kV100, kA100, {0})}) {
    const Scenario mixed = scenario(json);
    EXPECT_EQ(input_time(mixed), input_time(few));
    const InputPipeline pipeline = input_pipeline(mixed);
    EXPECT_EQ(pipeline.cores_per_node, cores_per_node(few));
    EXPECT_THAT(pipeline.slowest()->words, HasSubstr(kV100));
  }
  // Drives of both hold the data set.
  Json large = images(kA100, kV100, {1});
  large["workload"]["input"]["dataset_GB"] = 39000;
  const Scenario mixed = scenario(large);
  const auto words = beyond_drives(mixed, input_pipeline(mixed));
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, HasSubstr(fmt::format("{:.3g} TB", (*local_capacity(many) + *local_capacity(few)).in(1_TB))));
}

TEST(MixedNodes, TheSlowestWriterDecidesOfACheckpoint) {
  const auto cost = [](Json json, const char* kind) {
    json["run"]["checkpoint"]["kind"] = kind;
    const Scenario s = scenario(json);
    return checkpoint_cost(lower(s));
  };
  const Json fast = document(kA100, "", {}), slow = document(kV100, "", {}), mixed = document(kA100, kV100, {3}),
             first = document(kA100, kV100, {0});
  for (const char* kind : {"sharded", "asynchronous"}) {
    ASSERT_GT(cost(slow, kind).write, 2 * cost(fast, kind).write) << kind;
    EXPECT_EQ(cost(mixed, kind).write, cost(slow, kind).write) << kind;
    EXPECT_EQ(cost(mixed, kind).read, cost(slow, kind).read) << kind;
    EXPECT_EQ(cost(mixed, kind).stall, cost(slow, kind).stall) << kind;
  }
  // A full one passes through the first node.
  EXPECT_EQ(cost(mixed, "full").write, cost(fast, "full").write);
  EXPECT_EQ(cost(first, "full").write, cost(slow, "full").write);
}

}  // namespace
}  // namespace stepcast::mixed_nodes_test
