#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/estimate.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// Layers of one half each (Nemotron-H, Nemotron 3): Mamba-2 mixers, attention, MLPs and experts, some in a latent.
namespace stepcast::state_space_test {
namespace {

using test::named;
using test::preset;
using test::shipped;
using testing::HasSubstr;

constexpr int kMixer = 0, kExperts = 1, kAttention = 5;  // layers of Nemotron 3 Nano

bool has(const std::vector<LayerStep>& steps, std::string_view name) {
  return std::any_of(steps.begin(), steps.end(), [&](const LayerStep& s) { return s.op.name == name; });
}

std::array<double, 3> shape_of(const LayerStep& step) { return {step.op.m, step.op.n, step.op.k}; }

// Nemotron 3 Nano: 64 heads of 64 are 4096 wide, 8 groups of 128 states 1024; gate, input, B, C and 64 step sizes are
// 2·4096 + 2·1024 + 64 columns. Of 4096 + 2048 channels the convolution has 4 weights and a bias each.
TEST(StateSpace, AMixerByHand) {
  const LayerWork work = layer_work(*preset("nemotron-3-nano"), LayerRole::dense_block, kMixer, 1, 8192, {});
  EXPECT_EQ(shape_of(named(work.forward, "ssm_in")), (std::array{8192.0, 10304.0, 2688.0}));
  EXPECT_EQ(shape_of(named(work.forward, "ssm_out")), (std::array{8192.0, 2688.0, 4096.0}));
  EXPECT_FALSE(has(work.forward, "attention"));
  EXPECT_FALSE(has(work.forward, "mlp_up"));
  EXPECT_EQ(work.parameters, 2688.0 * 10304 + 4096.0 * 2688 + 6144.0 * 5 + 3 * 64 + 4096 + 2688);
  EXPECT_EQ(work.expert_parameters, 0);
  // Inputs of norm and first product, its result, the scan's and the second product's input, 16 bit.
  EXPECT_DOUBLE_EQ(work.activations.value(), 8192 * 2.0 * (2 * 2688 + 10304 + 2 * 4096));
}

// A chunk of 128 tokens has as many states as channels times 128, so one 4-byte state a channel and token: written (4),
// passed on (4 read, 2 written), read (2). Scores with 128 tokens in 8 groups, written and read in fp32.
TEST(StateSpace, TheScanMovesStatesAndScores) {
  const LayerWork work = layer_work(*preset("nemotron-3-nano"), LayerRole::dense_block, kMixer, 1, 8192, {});
  const double again = 1024 * 128 + 4096 * 128, scan = (1024 + 4096) * 128 + 2 * 4096 * 128, convolution = 6144 * 4;
  EXPECT_DOUBLE_EQ(named(work.forward, "ssm_scan").op.flops.value(), 8192 * 2 * scan);
  EXPECT_DOUBLE_EQ(named(work.forward, "ssm_convolution").op.flops.value(), 8192 * 2 * convolution);
  EXPECT_DOUBLE_EQ(named(work.backward_input, "ssm_scan_backward").op.flops.value(), 8192 * 2 * (again + 2 * scan));
  EXPECT_DOUBLE_EQ(named(work.backward_input, "ssm_convolution_backward").op.flops.value(), 8192 * 4 * convolution);
}

// Without recomputation a step executes no less than the model counts: HFU is not below MFU.
TEST(StateSpace, AStepExecutesWhatTheModelCounts) {
  const Scenario scenario = shipped("nemotron-3-nano-b300-8.json");
  const Flops executed = estimate(lower(scenario)).executed_flops * 8.0;
  const Flops counted = model_flops_per_sample(*scenario.model, 8192, {}) * 512.0;
  EXPECT_GE(executed, counted);
  EXPECT_LT(executed, 1.02 * counted);
}

TEST(StateSpace, TensorRanksShareHeadsAndGroups) {
  LayerSharding cut;
  cut.tp = 2;
  cut.sequence_parallel = true;
  const auto model = preset("nemotron-3-nano");
  const LayerWork part = layer_work(*model, LayerRole::dense_block, kMixer, 1, 8192, cut);
  const LayerWork whole = layer_work(*model, LayerRole::dense_block, kMixer, 1, 8192, {});
  EXPECT_EQ(2 * named(part.forward, "ssm_in").op.n, named(whole.forward, "ssm_in").op.n);
  EXPECT_DOUBLE_EQ(2 * named(part.forward, "ssm_scan").op.bytes.value(),
                   named(whole.forward, "ssm_scan").op.bytes.value());
  EXPECT_DOUBLE_EQ(2 * (part.parameters - 2688), whole.parameters - 2688);  // the norm is on both
}

TEST(StateSpace, ALayerIsOneHalf) {
  const auto model = preset("nemotron-3-nano");
  const LayerWork attention = layer_work(*model, LayerRole::dense_block, kAttention, 1, 8192, {});
  EXPECT_TRUE(has(attention.forward, "attention"));
  EXPECT_FALSE(has(attention.forward, "mlp_up"));
  EXPECT_EQ(attention.parameters, 2688.0 * (4096 + 2 * 256) + 4096.0 * 2688 + 2688);
  const LayerWork experts = layer_work(*model, LayerRole::moe_block, kExperts, 1, 8192, {});
  EXPECT_FALSE(has(experts.forward, "attention"));
  EXPECT_EQ(experts.expert_parameters, 128.0 * 2 * 2688 * 1856);
}

// 30B-A3B, 120B-A12B: what a token uses, embeddings included. 550B-A55B: without the embedding's table.
TEST(StateSpace, ActiveParametersAreThePublishedOnes) {
  EXPECT_NEAR(active_parameter_count(*preset("nemotron-3-nano")), 3.6e9, 0.03e9);
  EXPECT_NEAR(active_parameter_count(*preset("nemotron-3-super")), 12.7e9, 0.1e9);
  EXPECT_NEAR(active_parameter_count(*preset("nemotron-3-ultra")) - 131072.0 * 8192, 55e9, 0.1e9);
}

// Megatron-Bridge's figures for 35,861 tokens/s of Nano on a B300 are 798 TFLOP/s, so 22.3 GFLOP a token; for Super
// with its two predictions 594 of 7,009, so 84.7. They count attention's scores in full.
TEST(StateSpace, FlopsComeNearThePublishedCount) {
  const auto gflop_per_token = [](const Model& model) {
    return model_flops_per_sample(model, 8192, {.causal_halved = false}).value() / 8192 / 1e9;
  };
  EXPECT_NEAR(gflop_per_token(*preset("nemotron-3-nano")), 22.3, 0.02 * 22.3);
  Model super = *preset("nemotron-3-super");
  super.transformer->mtp_layers = 2;
  EXPECT_NEAR(gflop_per_token(super), 84.7, 0.04 * 84.7);
  Model ultra = *preset("nemotron-3-ultra");  // 917.75 of 2,548.9 on GB200
  ultra.transformer->mtp_layers = 2;
  EXPECT_NEAR(gflop_per_token(ultra), 360.1, 0.04 * 360.1);
}

// Experts of a latent see 1024 of 4096: so do exchanges; every rank projects its own tokens, there and back.
TEST(LatentExperts, ExchangeAndMultiplyTheLatent) {
  LayerSharding cut;
  cut.ep = 8;
  const LayerWork work = layer_work(*preset("nemotron-3-super"), LayerRole::moe_block, kExperts, 1, 8192, cut);
  EXPECT_EQ(shape_of(named(work.forward, "latent_down")), (std::array{8192.0, 1024.0, 4096.0}));
  EXPECT_EQ(shape_of(named(work.forward, "latent_up")), (std::array{8192.0, 4096.0, 1024.0}));
  EXPECT_EQ(named(work.forward, "expert_up").op.k, 1024);
  EXPECT_EQ(named(work.forward, "shared_up").op.k, 4096);
  EXPECT_DOUBLE_EQ(named(work.forward, "ep_dispatch").payload.value(), 8192 * 22.0 * 1024 * 2);
  EXPECT_EQ(work.expert_parameters, 64.0 * 2 * 1024 * 2688);
}

// Of 2,048 tokens a rank what the first product gave, 10,304 wide, goes to those that have its heads; behind the scan
// its result and the gate, 4,096 wide each, come back.
TEST(StateSpace, ContextRanksShareHeads) {
  LayerSharding cut;
  cut.cp = 4;
  const LayerWork work = layer_work(*preset("nemotron-3-nano"), LayerRole::dense_block, kMixer, 1, 8192, cut);
  for (const std::vector<LayerStep>* steps : {&work.forward, &work.backward_input}) {
    EXPECT_DOUBLE_EQ(named(*steps, "cp_all_to_all_mixer").payload.value(), 2048 * 10304 * 2);
    EXPECT_DOUBLE_EQ(named(*steps, "cp_all_to_all_scanned").payload.value(), 2048 * 2 * 4096 * 2);
  }
}

/// Faults of Nemotron 3 Nano with another shape.
std::string faults_of(const std::function<void(TransformerShape&)>& change) {
  return test::faults_of("nemotron-3-nano", [&](Model& model) { change(*model.transformer); });
}

TEST(LayerPattern, NamesEveryLayerAndWhatTheShapeHas) {
  EXPECT_EQ(faults_of([](TransformerShape&) {}), "");
  EXPECT_EQ(faults_of([](TransformerShape& s) { s.layers = 51; }),
            "/transformer/layer_pattern: names 52 layers, expected 51\n");
  EXPECT_EQ(faults_of([](TransformerShape& s) { s.layer_pattern[3] = 'X'; }),
            "/transformer/layer_pattern: found \"X\" as layer 4, expected M, G, *, - or E\n");
  EXPECT_EQ(faults_of([](TransformerShape& s) { s.ssm_state = 0; }),
            "/transformer/ssm_state: missing: layers of the pattern are M, Mamba-2 mixers\n");
  EXPECT_EQ(faults_of([](TransformerShape& s) { s.ssm_groups = 7; }),
            "/transformer/ssm_groups: 7 groups do not divide the 64 heads\n");
  EXPECT_THAT(
      faults_of([](TransformerShape& s) { std::replace(s.layer_pattern.begin(), s.layer_pattern.end(), 'E', '-'); }),
      HasSubstr("/transformer/experts: found experts, but no layer of the pattern is E"));
  EXPECT_THAT(faults_of([](TransformerShape& s) { s.layer_pattern.clear(); }),
              HasSubstr("/transformer/layer_pattern: missing: sizes of a Mamba-2 mixer"));
}

std::string fault(const std::vector<std::string>& changes) {
  std::vector<std::string> all{"workload.model=nemotron-3-nano", "strategy.virtual_pipeline=1",
                               "strategy.tensor_parallel=2"};
  all.insert(all.end(), changes.begin(), changes.end());
  return test::refusal_of("llama3-70b-h100-512.json", all);
}

TEST(LayerPattern, IsNotDescribedWithEverything) {
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(fault({"strategy.context_parallel=2"}), "none");
  EXPECT_THAT(fault({"strategy.context_parallel=64"}), HasSubstr("= 128 does not divide the 64"));
  // 64 heads are eight of each group; 96 are twelve, which three ranks could share but not the groups.
  EXPECT_THAT(fault({"workload.model=nemotron-3-nano-4b", "cluster.nodes=48", "strategy.context_parallel=3",
                     "strategy.tensor_parallel=1"}),
              HasSubstr("= 3 neither divides the 8 groups of a state-space layer nor is a multiple of them"));
  EXPECT_THAT(
      fault({"strategy.pipeline_parallel=1", "strategy.expert_parallel=8", "strategy.overlap_expert_parallel=true"}),
      HasSubstr("nemotron-3-nano has layers of one half each"));
  EXPECT_THAT(fault({"cluster.node=dgx-2", "workload.precision=fp16", "strategy.tensor_parallel=16",
                     "strategy.pipeline_parallel=1"}),
              HasSubstr("groups of a state-space layer"));
}

// Stages hold layers of a pattern as they come, 13 of 52 each.
TEST(LayerPattern, RunsInAPipeline) {
  const Scenario scenario = shipped(
      "llama3-70b-h100-512.json",
      {"workload.model=nemotron-3-nano", "cluster.nodes=4", "workload.global_batch=256", "strategy.expert_parallel=4",
       "strategy.tensor_parallel=1", "strategy.sequence_parallel=false", "strategy.virtual_pipeline=1"});
  const Job job = lower(scenario);
  ASSERT_EQ(job.chunks.size(), 4U);
  EXPECT_EQ(job.chunks[0].layer_kinds.size(), 1 + 13U);  // the embedding first
  EXPECT_GT(estimate(job).step_time, Seconds(0));
}

}  // namespace
}  // namespace stepcast::state_space_test
