// Steps in which nodes, leaves or parts of a group are unlike: folded, and every rank by itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/closed_form.hpp"
#include "models/parallelism/job.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/sim/simulated_step.hpp"

namespace stepcast::unlike_groups_test {
namespace {

using test::simulated_step;

struct Case {
  const char* name;
  Json cluster, workload, strategy;
};

Json nodes(const char* node, int count, Json more = Json::object()) {
  more.update({{"node", node}, {"nodes", count}});
  return more;
}

Json slow(std::vector<int> which, const char* what, double speed) {
  return {{"nodes", std::move(which)}, {what, speed}};
}

Json conditions(std::vector<Json> all) { return {{"conditions", std::move(all)}}; }

Scenario scenario(const Case& c) {
  const Json json{{"cluster", c.cluster}, {"workload", c.workload}, {"strategy", c.strategy}};
  return resolve(json, "test", {}, test::catalog());
}

const Json kShards{{"framework", "pytorch-fsdp"}, {"micro_batch", 1}, {"sharding", "hsdp"}, {"hsdp_shard_size", 2}};
const Json kEnds{{"framework", "megatron-lm"}, {"micro_batch", 2}, {"pipeline_parallel", 2}, {"sharding", "none"}};

std::vector<Case> cases() {
  const Json llama{{"model", "llama3.2-1b"}, {"seq_len", 1024}, {"global_batch", 128}, {"precision", "fp16"}};
  Json wide_shards = kShards;
  wide_shards["hsdp_shard_size"] = 16;
  const Json leaves_of_three{
      {"fabric", {{"preset", "fat-tree"}, {"oversubscription", 4}, {"nodes_per_leaf", 3}, {"placement", "scattered"}}}};
  return {
      // Copies of the parameters on healthy nodes wait for those of a slow one where gradients are summed, not before.
      {"copies beside a slow node", nodes("dgx-h100", 4, conditions({slow({0}, "compute_speed", 0.97)})), llama,
       kShards},
      {"copies over two nodes beside a slow one",
       nodes("dgx-h100", 6, conditions({slow({0}, "compute_speed", 0.9)})),
       {{"model", "llama3.2-1b"}, {"seq_len", 1024}, {"global_batch", 96}},
       wide_shards},
      // Kernels of a ring hold their compute units until its slowest link is done.
      {"a slow link beside a slow device",
       nodes("dgx-h100", 6, conditions({slow({0}, "network_speed", 0.5), slow({5}, "compute_speed", 0.8)})),
       {{"model", "llama3-8b"}, {"seq_len", 4096}, {"global_batch", 96}},
       {{"framework", "pytorch-fsdp"}, {"micro_batch", 1}}},
      // Both ends of a pipeline add up the embedding's gradients at the pace of the slower.
      {"ends of a pipeline on unlike nodes",
       nodes("aws-p4d.24xlarge", 4, conditions({slow({3}, "network_speed", 0.5)})),
       {{"model", "llama3.2-3b"}, {"seq_len", 512}, {"global_batch", 128}},
       kEnds},
      {"ends of a pipeline on leaves of three",
       nodes("dgx-a100-80gb", 8, leaves_of_three),
       {{"model", "llama3.2-1b"}, {"seq_len", 1024}, {"global_batch", 128}},
       kEnds},
  };
}

TEST(UnlikeGroups, FoldedIsEqualWithinOnePercent) {
  for (const Case& c : cases()) {
    const Scenario s = scenario(c);
    const double folded = simulated_step(s), full = simulated_step(s, FlowDetail::full);
    EXPECT_NEAR(folded / full, 1, 0.01) << c.name << ": folded " << folded << " s, full " << full << " s";
  }
}

// A copy of the parameters on healthy nodes has its own class, though its nodes are as those beside the slow one.
TEST(UnlikeGroups, CopiesBesideASlowNodeAreAClassOfTheirOwn) {
  const Scenario s = scenario(cases()[1]);
  const Fold fold = lower(s).fold;
  ASSERT_EQ(fold.classes.size(), 3U);  // four healthy nodes, the slow one, and the one that shares its copy
  EXPECT_EQ(fold.classes[0].replicas, 32);
  EXPECT_EQ(fold.classes[1].sharing, fold.classes[2].sharing);
  EXPECT_NE(fold.classes[0].sharing, fold.classes[1].sharing);
}

// A stage's six ranks lie on two nodes, four and two. Folded, the first node stands for both; the node between the
// stages has the NICs' traffic of both in full alone.
TEST(UnlikeGroups, RingsOfGroupsThatAreUnevenOverNodesPassEachOnce) {
  const Json rings{{"framework", "megatron-lm"},     {"micro_batch", 1},
                   {"pipeline_parallel", 2},         {"sharding", "none"},
                   {"collective_algorithm", "ring"}, {"overlap_gradients", false}};
  const Scenario s = scenario(
      {"uneven", nodes("juwels-booster", 3), {{"model", "gpt3-1.3b"}, {"seq_len", 2048}, {"global_batch", 48}}, rings});
  EXPECT_NEAR(simulated_step(s) / simulated_step(s, FlowDetail::full), 1, 0.03);
}

// How gathers and reductions happen to meet on the links may change by a hundredth.
TEST(UnlikeGroups, ASlowerNodeIsNeverFaster) {
  const Case copies = cases()[0];
  double last = 0;
  for (const double speed : {1.0, 0.99, 0.975, 0.96, 0.93}) {
    Case c = copies;
    c.cluster["conditions"] = Json::array();
    if (speed < 1) c.cluster["conditions"].push_back(slow({0}, "compute_speed", speed));
    const double step = simulated_step(scenario(c));
    EXPECT_GE(step, last * 0.99) << speed;
    last = std::max(last, step);
  }
}

// Which of equal nodes has the slow link changes nothing.
TEST(UnlikeGroups, WhichNodeIsSlowDoesNotMatter) {
  std::vector<double> steps;
  for (const int node : {0, 2, 4}) {
    Case c = cases()[2];
    c.cluster["conditions"] = Json::array({slow({node}, "network_speed", 0.5), slow({5}, "compute_speed", 0.8)});
    steps.push_back(simulated_step(scenario(c), FlowDetail::full));
  }
  EXPECT_NEAR(steps[1] / steps[0], 1, 0.01);
  EXPECT_NEAR(steps[2] / steps[0], 1, 0.01);
}

// Leaves of three nodes hold those of both ends.
TEST(UnlikeGroups, TheClosedFormCountsBothEndsOnALeaf) {
  const Scenario s = scenario(cases()[4]);
  EXPECT_NEAR(closed_form(lower(s)).step_time.value() / simulated_step(s), 1, 0.05);
}

}  // namespace
}  // namespace stepcast::unlike_groups_test
