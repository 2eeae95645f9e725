// Nodes that are slower than their kind or of another: what is refused, and which replicas are told apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/parallelism/job.hpp"
#include "models/reliability/failure_rates.hpp"
#include "report/predict.hpp"
#include "report/run_outlook.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::conditions_test {
namespace {

using test::catalog;

/// 16 nodes, tensor 8 · pipeline 4 · data 4: node n holds stage n / 4 of replica n mod 4.
Json document() {
  return {{"cluster", {{"node", "dgx-h100"}, {"nodes", 16}}},
          {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
          {"strategy", {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"pipeline_parallel", 4}}}};
}

Scenario scenario(const Json& json) { return resolve(json, "test", {}, catalog()); }

std::vector<std::string> faults_of(const Json& json) {
  std::vector<std::string> out;
  try {
    scenario(json);
  } catch (const InputError& error) {
    for (const Fault& fault : error.faults()) out.push_back(fault.pointer + ": " + fault.message);
  }
  return out;
}

TEST(Conditions, FaultsPointAtTheirPlace) {
  Json json = document();
  json["cluster"]["conditions"] = Json::array({{{"nodes", {3, 16}}, {"compute_speed", 0.8}},
                                               {{"nodes", {1}}, {"failed_nics", 8}},
                                               {{"nodes", {2, 2}}, {"network_speed", 0.5}}});
  EXPECT_THAT(
      faults_of(json),
      testing::ElementsAre("/cluster/conditions/0/nodes/1: found 16, but the cluster's 16 nodes are counted from 0",
                           "/cluster/conditions/1/failed_nics: leaves node 1 without one of its 8 NICs for training",
                           "/cluster/conditions/2/nodes: node 2 is named twice"));
}

TEST(Conditions, AMisspeltKeyHidesNoFaultOfItsNeighbours) {
  Json json = document();
  json["cluster"]["conditions"] = Json::array({{{"nodes", {16}}, {"computespeed", 0.8}},
                                               {{"node", {16}}, {"compute_speed", 0.8}},
                                               {{"nodes", {1}}, {"failed_nics", 8}, {"speed", 1}}});
  json["cluster"]["other_nodes"] = Json::array({{{"nod", "dgx-h100"}, {"nodes", {17}}}});
  EXPECT_THAT(faults_of(json), testing::UnorderedElementsAre(
                                   testing::StartsWith("/cluster/conditions/0/computespeed: "),
                                   testing::StartsWith("/cluster/conditions/0/nodes/0: found 16"),
                                   testing::StartsWith("/cluster/conditions/1/node: "),
                                   testing::StartsWith("/cluster/conditions/2/speed: "),
                                   testing::StartsWith("/cluster/conditions/2/failed_nics: leaves node 1 without"),
                                   testing::StartsWith("/cluster/other_nodes/0/nod: "),
                                   testing::StartsWith("/cluster/other_nodes/0/nodes/0: found 17")));
}

TEST(Conditions, OtherNodesNeedAsManyDevices) {
  Json json = document();
  json["cluster"]["other_nodes"] = Json::array({{{"node", "hgx-h100-4"}, {"nodes", {0}}}});
  ASSERT_EQ(faults_of(json).size(), 1U);
  EXPECT_THAT(faults_of(json)[0], testing::StartsWith("/cluster/other_nodes/0/node: "));
  // Racks of 72 have no part in a batch that eight a node divide: that is not what is wrong.
  json["cluster"]["other_nodes"] = Json::array({{{"node", "gb200-nvl72"}, {"nodes", {0}}}});
  ASSERT_EQ(faults_of(json).size(), 1U);
  EXPECT_THAT(faults_of(json)[0], testing::HasSubstr("\"gb200-nvl72\" has 72 devices"));
  json["cluster"]["other_nodes"] = Json::array({{{"node", "dgx-h1000"}, {"nodes", {0}}}});
  EXPECT_THAT(faults_of(json)[0], testing::HasSubstr("no node \"dgx-h1000\""));
}

TEST(Fold, OneClassWithoutConditions) {
  const Scenario s = scenario(document());
  const Fold fold = fold_of(s, rank_layout(s));
  ASSERT_EQ(fold.classes.size(), 1U);
  EXPECT_EQ(fold.classes[0].replicas, 4);
}

TEST(Fold, ASlowNodeSetsItsReplicaApart) {
  Json json = document();
  json["cluster"]["conditions"] = Json::array({{{"nodes", {6}}, {"compute_speed", 0.8}}});
  const Scenario s = scenario(json);
  const Fold fold = fold_of(s, rank_layout(s));
  ASSERT_EQ(fold.classes.size(), 2U);
  EXPECT_EQ(fold.classes[0].replicas, 3);
  EXPECT_EQ(fold.classes[1].replicas, 1);
  EXPECT_EQ(fold.classes[1].first, 2);
  EXPECT_EQ(fold.classes[1].state, (std::vector<int>{0, 1, 0, 0}));
  EXPECT_EQ(fold.class_of(2), 1);
  EXPECT_EQ(fold.class_of(3), 0);
}

TEST(Fold, ConditionsOfOneNodeAddUp) {
  Json json = document();
  json["cluster"]["conditions"] = Json::array(
      {{{"nodes", {6}}, {"compute_speed", 0.5}}, {{"nodes", {6}}, {"compute_speed", 0.5}, {"failed_nics", 1}}});
  const Scenario s = scenario(json);
  const Fold fold = fold_of(s, rank_layout(s));
  ASSERT_EQ(fold.states.size(), 2U);
  ASSERT_EQ(fold.states[1].size(), 1U);
  EXPECT_DOUBLE_EQ(fold.states[1][0].compute, 0.25);
  EXPECT_EQ(fold.states[1][0].failed_nics, 1);
}

// Every operator of the slow node takes 1 / 0.8 as long, and nothing else does.
TEST(Fold, OperatorsOfASlowNodeTakeLonger) {
  Json json = document();
  json["cluster"]["conditions"] = Json::array({{{"nodes", {6}}, {"compute_speed", 0.8}}});
  const Scenario s = scenario(json);
  const Job job = lower(s);
  const Segment& healthy = job.layer_kinds[0].forward;
  const Segment& slow = job.in_state(1).layer_kinds[0].forward;
  ASSERT_EQ(healthy.pieces.size(), slow.pieces.size());
  for (std::size_t i = 0; i < healthy.pieces.size(); ++i) {
    const bool host = healthy.pieces[i].wait == Wait::kernels;
    if (host) continue;
    EXPECT_NEAR(slow.pieces[i].duration / healthy.pieces[i].duration, healthy.pieces[i].communication ? 1 : 1.25, 1e-9)
        << healthy.pieces[i].name;
  }
}

TEST(ClosedForm, AStragglerSlowsEveryReplica) {
  Json json = document();
  const Scenario healthy = scenario(json);
  json["cluster"]["conditions"] = Json::array({{{"nodes", {6}}, {"compute_speed", 0.5}}});
  const Scenario slow = scenario(json);
  const StepBreakdown before = estimate(lower(healthy));
  const StepBreakdown after = estimate(lower(slow));
  // 1.29 times, as simulated: the slow stage's warm-up hides behind the way of the first micro-batch.
  EXPECT_NEAR(after.step_time / before.step_time, 1.29, 0.02);
  EXPECT_GT(after.synchronization_wait, before.synchronization_wait);
}

// Algorithms are chosen by links as they were built, up-links included: a node that is hardly slower changes none.
TEST(ClosedForm, ANodeThatIsHardlySlowerChangesNoAlgorithm) {
  for (const char* algorithm : {"auto", "hierarchical"}) {
    Json json{
        {"cluster",
         {{"node", "dgx-h100"},
          {"nodes", 4},
          {"fabric",
           {{"preset", "fat-tree"}, {"nodes_per_leaf", 2}, {"oversubscription", 8}, {"placement", "scattered"}}}}},
        {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
        {"strategy", {{"framework", "pytorch-ddp"}, {"collective_algorithm", algorithm}}}};
    const Scenario healthy = scenario(json);
    for (const char* speed : {"compute_speed", "network_speed", "native_speed"}) {
      json["cluster"]["conditions"] = Json::array({{{"nodes", {3}}, {speed, 0.99999}}});
      const Scenario slow = scenario(json);
      EXPECT_NEAR(estimate(lower(slow)).step_time / estimate(lower(healthy)).step_time, 1, 1e-4) << speed;
    }
  }
}

/// Eight servers on one network, whatever they are; `others` of them are DGX A100.
Scenario mixed(const char* node, int others = 0) {
  Json json = {
      {"cluster",
       {{"node", node},
        {"nodes", 8},
        {"fabric", {{"preset", "fat-tree"}, {"nic_bandwidth_Gbps", 200}, {"switch", "qm8700"}}}}},
      {"workload",
       {{"model", "llama3-8b"}, {"global_batch", 128}, {"seq_len", 4096}, {"precision", "bf16"}, {"tokens", 1e11}}},
      {"strategy",
       {{"framework", "megatron-lm"},
        {"tensor_parallel", 2},
        {"sequence_parallel", true},
        {"micro_batch", 1},
        {"sharding", "zero-1"}}}};
  std::vector<int> which(static_cast<std::size_t>(others));
  for (int i = 0; i < others; ++i) which[static_cast<std::size_t>(i)] = i;
  if (others > 0) json["cluster"]["other_nodes"] = Json::array({{{"node", "dgx-a100-80gb"}, {"nodes", which}}});
  return resolve(json, "test", {}, catalog());
}

Prediction predicted(const char* node, int others = 0) { return predict_analytic(mixed(node, others), catalog()); }

TEST(MixedNodes, AllReplacedAreTheOtherKind) {
  const Prediction replaced = predicted("dgx-h100", 8), other = predicted("dgx-a100-80gb");
  // The closed form slows computation beside collectives down as the cluster's own kind does.
  EXPECT_NEAR(replaced.step_time / other.step_time, 1, 0.005);
  EXPECT_NEAR(replaced.mfu * replaced.step_time / (other.mfu * other.step_time), 1, 1e-9);
  EXPECT_NEAR(replaced.device_average_power / other.device_average_power, 1, 0.002);
  EXPECT_NEAR(replaced.average_power / other.average_power, 1, 0.002);
  EXPECT_EQ(replaced.peak_power, other.peak_power);
  EXPECT_NEAR(*replaced.cost_rate / *other.cost_rate, 1, 0.001);
  EXPECT_EQ(replaced.cost_basis, other.cost_basis);
  EXPECT_EQ(replaced.expected_error.why, other.expected_error.why);
  EXPECT_EQ(replaced.outlook->goodput.between_interruptions, other.outlook->goodput.between_interruptions);
  EXPECT_EQ(replaced.outlook->goodput.basis, other.outlook->goodput.basis);
  EXPECT_EQ(replaced.outlook->facility.rack, other.outlook->facility.rack);
}

TEST(MixedNodes, AreTheSumOverTheirKinds) {
  const Prediction fast = predicted("dgx-h100"), slow = predicted("dgx-a100-80gb"), half = predicted("dgx-h100", 4);
  const auto between = [&](double h100, double mixed, double a100) {
    EXPECT_GT(mixed, std::min(h100, a100));
    EXPECT_LT(mixed, std::max(h100, a100));
  };
  between(fast.device_average_power.value(), half.device_average_power.value(), slow.device_average_power.value());
  between(fast.average_power.value(), half.average_power.value(), slow.average_power.value());
  between(fast.peak_power.value(), half.peak_power.value(), slow.peak_power.value());
  between(fast.cost_rate->value(), half.cost_rate->value(), slow.cost_rate->value());
  EXPECT_NEAR(half.mfu, half.model_tflops_per_gpu / ((989.4 + 311.9) / 2), 1e-3);
  // Who is faster waits for who is slower.
  EXPECT_LT(half.device_average_power, 0.5 * (fast.device_average_power + slow.device_average_power));
  EXPECT_THAT(half.cost_basis, testing::HasSubstr("4 × dgx-h100 bought at $270,000 a node"));
  EXPECT_THAT(half.cost_basis, testing::HasSubstr("4 × dgx-a100-80gb bought at $199,000 a node"));
  const auto rate = [](const Scenario& of) { return failure_rates(of, catalog()).interruptions.value(); };
  EXPECT_NEAR(rate(mixed("dgx-h100", 4)), 0.5 * (rate(mixed("dgx-h100")) + rate(mixed("dgx-a100-80gb"))), 1e-15);
}

}  // namespace
}  // namespace stepcast::conditions_test
