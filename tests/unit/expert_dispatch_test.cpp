// Tokens that reach a node or a rank once, whatever the experts that they visit there.
#include "models/parallelism/expert_dispatch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "models/estimate.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/step_breakdown.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::expert_dispatch_test {
namespace {

using test::shipped;

TransformerShape routed(int experts, int top_k) {
  TransformerShape shape;
  shape.experts = experts;
  shape.top_k = top_k;
  return shape;
}

// 64 ranks on 8 nodes, 8 of 256 experts. A node has 32 of them and is missed by (224·223·…·217)/(256·255·…·249) =
// 0.33817 of the tokens, so 8 · 0.66183 are reached; a rank has 4 and is missed by (252·…·245)/(256·…·249) = 0.88007,
// so 64 · 0.11993.
TEST(TokenCopies, AreOneForEachPlaceThatHoldsAnyExpert) {
  const TokenCopies copies = token_copies(routed(256, 8), {64, 8, 1});
  EXPECT_NEAR(copies.nodes, 5.2947, 1e-3);
  EXPECT_NEAR(copies.ranks, 7.6758, 1e-3);
}

TEST(TokenCopies, InOneNodeOneLeavesForIt) {
  const TokenCopies copies = token_copies(routed(128, 8), {8, 8, 1});
  EXPECT_DOUBLE_EQ(copies.nodes, 1);
  EXPECT_LT(copies.ranks, 8);
}

// With one expert a rank, or one to choose, there is nothing to spare.
TEST(TokenCopies, OfSingleExpertsAreAllOfThem) {
  EXPECT_DOUBLE_EQ(token_copies(routed(64, 8), {64, 8, 1}).ranks, 8);
  EXPECT_DOUBLE_EQ(token_copies(routed(64, 8), {64, 1, 8}).nodes, 8);
  const TokenCopies one = token_copies(routed(64, 1), {64, 8, 1});
  EXPECT_DOUBLE_EQ(one.ranks, 1);
  EXPECT_DOUBLE_EQ(one.nodes, 1);
}

// DeepSeek-V3: 4 of 8 groups of 32 experts. On 8 nodes a group is one: 8 of the 128 experts of 4 nodes miss one of them
// with (96·95·…·89)/(128·127·…·121) = 0.09275. Fewer nodes than groups are reached no more often than without them.
TEST(TokenCopies, ReachNoMoreNodesThanTheRouterChooses) {
  const TransformerShape& shape = *test::preset("deepseek-v3")->transformer;
  EXPECT_NEAR(token_copies(shape, {64, 8, 1}).nodes, 4 * (1 - 0.09275), 1e-3);
  EXPECT_NEAR(token_copies(shape, {32, 8, 1}).nodes, token_copies(routed(256, 8), {32, 8, 1}).nodes, 1e-12);
  EXPECT_LE(token_copies(shape, {128, 8, 1}).nodes, 8);
  EXPECT_LT(token_copies(shape, {64, 8, 1}).ranks, token_copies(routed(256, 8), {64, 8, 1}).ranks);
}

TEST(ExpertGroups, DivideTheExpertsAndHoldAllOfATokens) {
  const auto faults = [](int groups, int some) {
    return test::faults_of("deepseek-v3", [&](Model& model) {
      model.transformer->expert_groups = groups;
      model.transformer->groups_per_token = some;
    });
  };
  EXPECT_EQ(faults(8, 4), "");
  EXPECT_EQ(faults(7, 4), "/transformer/expert_groups: 7 does not divide the 256 experts\n");
  EXPECT_EQ(faults(8, 9), "/transformer/groups_per_token: found 9, expected 1 to 8 (expert_groups)\n");
  EXPECT_EQ(faults(64, 1), "/transformer/groups_per_token: 1 groups have 4 experts, but top_k is 8\n");
  EXPECT_NE(test::faults_of("llama3-8b", [](Model& model) { model.transformer->expert_groups = 2; }), "");
}

// DeepEP, docs/legacy.md, normal kernels on H800 with a 400 Gb/s NIC each: 4,096 tokens of 7,168 elements, 8 experts of
// 256 in 4 groups, a group a node; combined in 16 bit. Its figures count what stays in the node, too. On two nodes its
// kernels fall short of both links.
struct Measured {
  int ranks, groups, groups_per_token;
  double gigabytes;  ///< per second, of copies to ranks (one node) or nodes
  double tolerated;
};

class DeepEp : public testing::TestWithParam<Measured> {};

TEST_P(DeepEp, IsAsFastAsMeasured) {
  const auto& [ranks, groups, some, gigabytes, tolerated] = GetParam();
  const Scenario scenario = resolve({{"cluster", {{"node", "hgx-h800-8"}, {"nodes", 8}}},
                                     {"workload", {{"model", "deepseek-v3"}, {"global_batch", 64}}},
                                     {"strategy", {{"framework", "megatron-lm"}, {"expert_parallel", 64}}}},
                                    "deepep", {}, test::catalog());
  const Interconnect net = interconnect_of(scenario);
  const GroupShape group{ranks, 8, 1};
  TransformerShape shape = routed(256, 8);
  shape.expert_groups = groups;
  shape.groups_per_token = some;
  const TokenCopies copies = token_copies(shape, group);
  const Bytes token(4096.0 * 7168 * 2);
  const Seconds time = forwarded_cost(token * copies.nodes, token * copies.ranks, group, net).alone(net, group);
  const double counted = ranks > 8 ? copies.nodes : copies.ranks;
  EXPECT_NEAR((token * counted / time).in(1_GBps) / gigabytes, 1, tolerated);
}

INSTANTIATE_TEST_SUITE_P(Published, DeepEp,
                         testing::Values(Measured{8, 1, 1, 158, 0.2}, Measured{16, 2, 2, 43, 0.35},
                                         Measured{32, 4, 4, 57, 0.1}, Measured{64, 8, 4, 50, 0.1}),
                         [](const auto& of) { return "Ranks" + std::to_string(of.param.ranks); });

// A rank whose experts get 1.5 times the mean multiplies so many rows, and receives and sorts so many tokens. What it
// routes itself, and so copies into order, is the mean.
TEST(ExpertImbalance, IsWaitedForInEveryLayer) {
  LayerSharding even;
  even.ep = 8;
  LayerSharding uneven = even;
  uneven.expert_imbalance = 1.5;
  const auto work = [](const LayerSharding& sharding) {
    return layer_work(*test::preset("deepseek-v3"), LayerRole::moe_block, 4, 1, 4096, sharding);
  };
  const LayerWork mean = work(even), most = work(uneven);
  const auto over = [&](std::string_view name, double factor) {
    const LayerStep &a = test::named(mean.forward, name), &b = test::named(most.forward, name);
    EXPECT_NEAR(b.op.flops.value(), factor * a.op.flops.value(), 1) << name;
    EXPECT_NEAR(b.payload.value(), factor * a.payload.value(), 1) << name;
  };
  for (const char* name : {"expert_up", "expert_down", "ep_dispatch"}) over(name, 1.5);
  for (const char* name : {"router", "permute"}) over(name, 1);
  EXPECT_GT(most.activations, mean.activations);
}

TEST(ExpertImbalance, IsBoundByTheRanksThatShareExperts) {
  const auto step = [](const std::string& imbalance, const char* ranks) {
    const Scenario scenario = shipped("qwen3-235b-gb300-288.json", {"workload.expert_imbalance=" + imbalance,
                                                                    std::string("strategy.expert_parallel=") + ranks});
    return estimate(lower(scenario)).step_time;
  };
  EXPECT_GT(step("1.5", "8"), step("1", "8"));
  EXPECT_THROW((void)step("8.5", "8"), InputError);
  EXPECT_THROW((void)step("1.5", "1"), InputError);
  EXPECT_THAT(test::refusal_of("resnet50-v100-8nodes.json", {"workload.expert_imbalance=2"}),
              testing::HasSubstr("resnet50 has no experts; leave expert_imbalance out"));
}

std::vector<const Piece*> exchanges(const Job& job) {
  std::vector<const Piece*> out;
  for (const LayerCost& layer : job.layer_kinds)
    for (const Segment* segment : {&layer.forward, &layer.backward_input})
      for (const Piece& piece : segment->pieces)
        if (piece.communication && piece.dimension == Dimension::expert) out.push_back(&piece);
  return out;
}

Scenario deepseek(const char* dispatch) {
  return resolve(
      {{"cluster", {{"node", "dgx-h100"}, {"nodes", 64}}},
       {"workload", {{"model", "deepseek-v3"}, {"global_batch", 2048}}},
       {"strategy",
        {{"framework", "megatron-lm"}, {"expert_parallel", 64}, {"expert_dispatch", dispatch}, {"recompute", "full"}}}},
      "deepseek", {}, test::catalog());
}

// Of 8 copies 7/8 leave the node by all_to_all, and of those to 3.629 nodes; 7/8 of those to 7.359 ranks are forwarded.
TEST(ExpertDispatch, SendsFewerBytesBetweenNodesAndForwardsInside) {
  const Scenario whole = deepseek("all_to_all"), once = deepseek("deepep");
  const Job all = lower(whole), few = lower(once);
  const std::vector<const Piece*> before = exchanges(all), after = exchanges(few);
  ASSERT_EQ(before.size(), after.size());
  ASSERT_FALSE(before.empty());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i]->collective, CollectiveKind::all_to_all);
    EXPECT_NEAR(after[i]->cost.network_bytes / before[i]->cost.network_bytes, 3.629 / 8, 1e-3);
    EXPECT_NEAR(after[i]->cost.native_bytes / before[i]->cost.network_bytes, 7.359 / 8, 1e-3);
    EXPECT_LT(after[i]->duration, before[i]->duration);
  }
  EXPECT_LT(estimate(few).step_time, estimate(all).step_time);
}

// Layers that are kept from one scenario to the next are not those of another dispatcher.
TEST(ExpertDispatch, IsNotKeptFromOneLoweringToTheNext) {
  const Scenario whole = deepseek("all_to_all"), once = deepseek("deepep");
  Lowering lowering;
  (void)lowering.lower(whole);
  EXPECT_EQ(estimate(lowering.lower(once)).step_time, estimate(lower(once)).step_time);
}

std::string refusal_of(const Json& cluster, const Json& strategy) {
  try {
    (void)resolve({{"cluster", cluster},
                   {"workload", {{"model", "qwen3-30b-a3b"}, {"global_batch", 2560}}},
                   {"strategy", strategy}},
                  "test", {}, test::catalog());
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(ExpertDispatch, RunsWhereItsLibraryDoes) {
  Json strategy{{"framework", "megatron-lm"}, {"expert_parallel", 8}, {"expert_dispatch", "deepep"}};
  EXPECT_EQ(refusal_of({{"node", "dgx-a100-80gb"}, {"nodes", 2}}, strategy), "");
  EXPECT_NE(refusal_of({{"node", "dgx-1-v100-32gb"}, {"nodes", 2}}, strategy)
                .find("/strategy/expert_dispatch: found deepep, which runs on NVIDIA's accelerators from Ampere on"),
            std::string::npos);
  strategy["expert_dispatch"] = "all_to_all";
  EXPECT_EQ(refusal_of({{"node", "dgx-1-v100-32gb"}, {"nodes", 2}}, strategy), "");
}

// DeepEP has settings for 64 ranks, and none for 256.
TEST(ExpertDispatch, TakesGroupsThatItsLibraryHasSettingsFor) {
  Json strategy{{"framework", "megatron-lm"}, {"expert_parallel", 1}, {"expert_dispatch", "deepep"}};
  const Json servers{{"node", "dgx-h100"}, {"nodes", 32}};
  EXPECT_EQ(refusal_of(servers, strategy), "") << "nothing is sent";
  strategy["expert_parallel"] = 64;
  EXPECT_EQ(refusal_of(servers, strategy), "");
  strategy["tensor_parallel"] = 4;
  strategy["sequence_parallel"] = true;
  EXPECT_NE(refusal_of(servers, strategy).find("has no settings for groups of 256 ranks"), std::string::npos)
      << refusal_of(servers, strategy);
  strategy["expert_tensor_parallel"] = 1;
  EXPECT_EQ(refusal_of(servers, strategy), "");
}

TEST(ExpertDispatch, IsTheFrameworksUnlessStated) {
  EXPECT_EQ(shipped("qwen3-235b-gb300-288.json").expert_dispatch, ExpertDispatch::all_to_all);
  const Scenario stated = shipped("qwen3-235b-gb300-288.json", {"strategy.expert_dispatch=deepep"});
  EXPECT_EQ(stated.expert_dispatch, ExpertDispatch::deepep);
  EXPECT_EQ(to_json(stated).at("strategy").at("expert_dispatch"), "deepep");
}

}  // namespace
}  // namespace stepcast::expert_dispatch_test
