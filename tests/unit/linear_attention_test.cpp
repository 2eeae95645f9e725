#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "models/compute/device.hpp"
#include "models/estimate.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/linear_attention_traffic.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// Layers of linear attention (Qwen3-Next, Kimi Linear, MiniMax-01) and gated attention between them.
namespace stepcast::linear_attention_test {
namespace {

using test::named;
using test::preset;
using test::shipped;
using testing::HasSubstr;

constexpr double kTokens = 4096;
constexpr int kLinear = 0, kExperts = 1, kAttention = 6;  // layers of Qwen3-Next: GEGEGE*E and again

bool has(const std::vector<LayerStep>& steps, std::string_view name) {
  return std::any_of(steps.begin(), steps.end(), [&](const LayerStep& s) { return s.op.name == name; });
}

std::array<double, 3> shape_of(const LayerStep& step) { return {step.op.m, step.op.n, step.op.k}; }

LayerWork layer(const Model& model, int index, const LayerSharding& cut = {}) {
  const bool experts = model.transformer->is_moe(index);
  return layer_work(model, experts ? LayerRole::moe_block : LayerRole::dense_block, index, 1, kTokens, cut);
}

// 16 heads of queries and keys of 128 are 2048 wide, 32 of values 4096: queries, keys, values, gate, and decay and
// strength of each of the 32 heads are 2·2048 + 2·4096 + 64 columns. 8192 channels have four weights of the convolution
// each; a norm of one head's 128; the layer's norm of 2048.
TEST(LinearAttention, AGatedDeltaLayerByHand) {
  const LayerWork work = layer(*preset("qwen3-next-80b-a3b"), kLinear);
  EXPECT_EQ(shape_of(named(work.forward, "linear_in")), (std::array{kTokens, 12352.0, 2048.0}));
  EXPECT_EQ(shape_of(named(work.forward, "linear_out")), (std::array{kTokens, 2048.0, 4096.0}));
  EXPECT_FALSE(has(work.forward, "attention"));
  EXPECT_FALSE(has(work.forward, "linear_decay"));
  EXPECT_EQ(work.parameters, 2048.0 * 12352 + 4096.0 * 2048 + 8192.0 * 4 + 2 * 32 + 128 + 2048);
  // Inputs of norm and first product, its result, normed queries and keys of 32 heads, values, 64 scores a head, the
  // recurrence's result and the second product's input, 16 bit.
  EXPECT_DOUBLE_EQ(work.activations.value(),
                   kTokens * 2 * (2 * 2048 + 12352 + 2 * 4096 + 4096 + 32 * 64 + 4096 + 4096));
}

// A head's token: 7 accesses of keys and 6 of values, 128 wide; two of 64 scores in 16 bit and two in fp32; two of
// 128 · 128 / 64 states: 5,120 bytes. Backward 21, 15, two and four: 11,520.
TEST(LinearAttention, TheGatedDeltaRuleMoves) {
  const LayerWork work = layer(*preset("qwen3-next-80b-a3b"), kLinear);
  EXPECT_DOUBLE_EQ(named(work.forward, "linear_attention").op.bytes.value(), kTokens * 32 * 5120);
  EXPECT_DOUBLE_EQ(named(work.backward_input, "linear_attention_backward").op.bytes.value(), kTokens * 32 * 11520);
  EXPECT_DOUBLE_EQ(named(work.forward, "linear_convolution").op.bytes.value(), kTokens * 2 * 2 * 8192);
  // Norms read and write queries and keys; copies read them and write as wide as 32 heads.
  EXPECT_DOUBLE_EQ(named(work.forward, "linear_qk_norm").op.bytes.value(),
                   kTokens * 2 * (4 * 2048 + 2 * 2048 + 2 * 4096));
}

// Of a token and head: scores of keys with 64 others, both times the triangle's inverse, scores with queries and these
// times values, three products with a state of 128 · 128. The gradients' kernels: ten and five of those with a chunk,
// eight with a state.
TEST(LinearAttention, TheGatedDeltaRuleMultiplies) {
  const LayerWork work = layer(*preset("qwen3-next-80b-a3b"), kLinear);
  const double chunk = 64 * 128, state = 128 * 128;
  EXPECT_DOUBLE_EQ(named(work.forward, "linear_attention").op.flops.value(),
                   kTokens * 32 * 2 * (3 * chunk + 2 * chunk + 3 * state));
  EXPECT_DOUBLE_EQ(named(work.backward_input, "linear_attention_backward").op.flops.value(),
                   kTokens * 32 * 2 * (10 * chunk + 5 * chunk + 8 * state));
}

// A decay of each channel, in fp32: 1.55 times the traffic of one a head, 1.61 times the time on an H800 (3.268 and
// 2.033 ms; PaddlePaddle/flash-attention pull request 133).
TEST(LinearAttention, KimiDeltaTakesLongerAsMeasured) {
  const workload::RecurrenceSizes sizes{96, 128, 128, 2};
  const double gated = workload::forward_recurrence(LinearAttentionKind::gated_delta, sizes).bytes;
  const double kimi = workload::forward_recurrence(LinearAttentionKind::kimi_delta, sizes).bytes;
  EXPECT_DOUBLE_EQ(kimi / gated, 7936.0 / 5120);
  EXPECT_NEAR(kimi / gated, 3.268 / 2.033, 0.07);
}

Device device_on(const std::string& node) {
  return device_of(shipped("llama3-70b-h100-512.json", {"cluster.node=" + node}));
}

double seconds_of(const workload::Recurrence& token, double tokens, const Device& device) {
  Operator op;
  op.bytes = Bytes(token.bytes * tokens);
  op.bytes_per_cycle = token.bytes_per_cycle;
  return operator_time(op, device).value();
}

// 8,192 tokens and 96 heads forward took 2.033 ms on an H800, which is an H100 here, and 1.49 on a B200; 32,768 and 32
// forward and backward 15.76 ms on an H200.
TEST(LinearAttention, TheKernelsComeNearTheirMeasuredTimes) {
  const workload::RecurrenceSizes many{96, 128, 128, 2}, some{32, 128, 128, 2};
  const auto forward = [](const auto& sizes) {
    return workload::forward_recurrence(LinearAttentionKind::gated_delta, sizes);
  };
  EXPECT_NEAR(seconds_of(forward(many), 8192, device_on("dgx-h100")), 2.033e-3, 0.15 * 2.033e-3);
  EXPECT_NEAR(seconds_of(forward(many), 8192, device_on("dgx-b200")), 1.49e-3, 0.15 * 1.49e-3);
  const Device h200 = device_on("dgx-h200");
  const workload::Recurrence backward = workload::backward_recurrence(LinearAttentionKind::gated_delta, some);
  EXPECT_NEAR(seconds_of(forward(some), 32768, h200) + seconds_of(backward, 32768, h200), 15.76e-3, 0.05 * 15.76e-3);
}

// TPUs count no multiprocessors and state no fp32 rate: a byte of their memory has the cycles of one of an H100.
TEST(LinearAttention, PartsWithoutMultiprocessorsGoByTheirMemory) {
  const Device tpu = device_of(shipped("systems/tpu-v4-pod.json", {"cluster.node=tpu-v5p-host"}));
  EXPECT_NEAR(tpu.multiprocessor_cycles, 2765e9 / (3350e9 / (132 * 1980e6)), 1e6);
}

// Multiprocessors set the pace: memory of another rate changes nothing, a clock does; where memory is slower than they
// are it is memory's.
TEST(LinearAttention, MultiprocessorsOrMemoryLimitTheRecurrence) {
  const workload::Recurrence token = workload::forward_recurrence(LinearAttentionKind::gated_delta, {32, 128, 128, 2});
  const double h100 = seconds_of(token, 1e5, device_on("dgx-h100")),
               h200 = seconds_of(token, 1e5, device_on("dgx-h200"));
  EXPECT_NEAR(h200 / h100, 1, 0.01);
  Device slow = device_on("dgx-h100");
  slow.multiprocessor_cycles /= 2;
  EXPECT_NEAR(seconds_of(token, 1e5, slow) / h100, 2, 0.01);
  slow.memory_bandwidth = slow.memory_bandwidth / 10;
  EXPECT_NEAR(seconds_of(token, 1e5, slow), 1e5 * token.bytes / slow.memory_bandwidth.value(), 1e-5);
}

// Kimi Linear: 32 heads of 128; queries, keys, values, strengths and two latents of 128 from one product, decays and
// gate from the latents; three convolutions of four tokens; a base a head and a bias a channel of the decays.
TEST(LinearAttention, AKimiDeltaLayerByHand) {
  const LayerWork work = layer(*preset("kimi-linear-48b-a3b"), kLinear);
  EXPECT_EQ(shape_of(named(work.forward, "linear_in")), (std::array{kTokens, 3 * 4096.0 + 32 + 256, 2304.0}));
  EXPECT_EQ(shape_of(named(work.forward, "linear_decay")), (std::array{kTokens, 4096.0, 128.0}));
  EXPECT_EQ(shape_of(named(work.forward, "linear_gate")), (std::array{kTokens, 4096.0, 128.0}));
  EXPECT_EQ(work.parameters, 2304.0 * (3 * 4096 + 32 + 256) + 2 * 128.0 * 4096 + 4096.0 * 2304 + 3 * 4096.0 * 4 + 32 +
                                 4096 + 128 + 2304);
}

// MiniMax-Text-01: 64 heads of 128; queries, keys, values and the gate; no convolution; a norm over all heads.
TEST(LinearAttention, ALightningLayerByHand) {
  const LayerWork work = layer(*preset("minimax-text-01"), kLinear);
  EXPECT_EQ(shape_of(named(work.forward, "linear_in")), (std::array{kTokens, 4 * 8192.0, 6144.0}));
  EXPECT_FALSE(has(work.forward, "linear_convolution"));
  EXPECT_EQ(work.parameters, 6144.0 * 4 * 8192 + 8192.0 * 6144 + 8192 + 6144);
  // Three accesses of keys and of values and two of states of a head.
  EXPECT_DOUBLE_EQ(named(work.forward, "linear_attention").op.bytes.value(), kTokens * 64 * (6 * 128 + 2 * 256) * 2);
}

// Lightning Attention has no convolution unless it is said to have one; the delta rules have one over four tokens.
TEST(LinearAttention, ConvolutionsAreTheDeltaRules) {
  const auto convolution = [](const std::string& id, std::optional<int> tokens) {
    Model model = *preset(id);
    model.transformer->linear_attention->convolution = tokens;
    const LayerWork work = layer(model, kLinear);
    return has(work.forward, "linear_convolution") ? named(work.forward, "linear_convolution").op.flops.value() : 0;
  };
  EXPECT_EQ(convolution("minimax-text-01", std::nullopt), 0);
  EXPECT_EQ(convolution("minimax-text-01", 4), 2 * kTokens * 3 * 8192 * 4);
  EXPECT_EQ(convolution("qwen3-next-80b-a3b", std::nullopt), 2 * kTokens * 8192 * 4);
  EXPECT_EQ(convolution("qwen3-next-80b-a3b", 0), 0);
}

// The gate is as wide as the result: 16 heads of 256 and 2 of keys and values give 2·4096 + 2·512 columns.
TEST(LinearAttention, AttentionBetweenThemHasAGate) {
  const auto model = preset("qwen3-next-80b-a3b");
  const LayerWork work = layer(*model, kAttention);
  EXPECT_EQ(named(work.forward, "qkv").op.n, 2 * 4096.0 + 2 * 512);
  EXPECT_DOUBLE_EQ(named(work.forward, "attention_gate").op.bytes.value(), kTokens * 2 * 3 * 4096);
  EXPECT_DOUBLE_EQ(named(work.backward_input, "attention_gate_backward").op.bytes.value(), kTokens * 2 * 5 * 4096);
  Model plain = *model;
  plain.transformer->attention_output_gate = false;
  const LayerWork without = layer(plain, kAttention);
  EXPECT_EQ(work.parameters - without.parameters, 2048.0 * 4096);
  // The gate, and the result before it.
  EXPECT_DOUBLE_EQ((work.activations - without.activations).value(), kTokens * 2 * 2 * 4096);
}

TEST(LinearAttention, TensorRanksShareHeads) {
  LayerSharding cut;
  cut.tp = 2;
  cut.sequence_parallel = true;
  const auto model = preset("qwen3-next-80b-a3b");
  const LayerWork part = layer(*model, kLinear, cut), whole = layer(*model, kLinear);
  EXPECT_EQ(2 * named(part.forward, "linear_in").op.n, named(whole.forward, "linear_in").op.n);
  EXPECT_DOUBLE_EQ(2 * named(part.forward, "linear_attention").op.bytes.value(),
                   named(whole.forward, "linear_attention").op.bytes.value());
}

// 80B-A3B, 48B-A3B (49.1 of the checkpoint) and 456B of which 45.9B are active, embeddings apart.
TEST(LinearAttention, ParametersAreThePublishedOnes) {
  EXPECT_NEAR(parameter_count(*preset("qwen3-next-80b-a3b")), 79.7e9, 0.1e9);
  EXPECT_NEAR(parameter_count(*preset("kimi-linear-48b-a3b")), 49.1e9, 0.1e9);
  EXPECT_NEAR(parameter_count(*preset("minimax-text-01")), 456e9, 1e9);
  const Model& minimax = *preset("minimax-text-01");
  EXPECT_NEAR(active_parameter_count(minimax) - 2.0 * 200064 * 6144, 45.9e9, 0.2e9);
}

std::string faults_of(const std::function<void(TransformerShape&)>& change) {
  return test::faults_of("qwen3-next-80b-a3b", [&](Model& model) { change(*model.transformer); });
}

TEST(LinearAttention, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(faults_of([](TransformerShape&) {}), "");
  EXPECT_EQ(faults_of([](TransformerShape& s) { s.linear_attention.reset(); }),
            "/transformer/linear_attention: missing: layers of the pattern are G, linear attention\n");
  EXPECT_THAT(
      faults_of([](TransformerShape& s) { std::replace(s.layer_pattern.begin(), s.layer_pattern.end(), 'G', '*'); }),
      HasSubstr("/transformer/linear_attention: found, but no layer of layer_pattern is G"));
  EXPECT_THAT(faults_of([](TransformerShape& s) { s.linear_attention->value_heads = 24; }),
              HasSubstr("/transformer/linear_attention/value_heads: found 24, no multiple of the 16 key_heads"));
  EXPECT_THAT(faults_of([](TransformerShape& s) { s.linear_attention->kind = LinearAttentionKind::kimi_delta; }),
              HasSubstr("found 32, but each head of kind kimi_delta has a key of its own"));
  EXPECT_THAT(faults_of([](TransformerShape& s) { s.linear_attention->gate_rank = 64; }),
              HasSubstr("/transformer/linear_attention/gate_rank: found 64, but kind gated_delta has no such latents"));
}

std::string fault(const std::vector<std::string>& changes) {
  std::vector<std::string> all{"workload.model=qwen3-next-80b-a3b", "strategy.virtual_pipeline=1",
                               "strategy.tensor_parallel=2"};
  all.insert(all.end(), changes.begin(), changes.end());
  return test::refusal_of("llama3-70b-h100-512.json", all);
}

// 16 heads of keys go to 16 ranks at most. Before the convolution each sends what the first product gave of its 1,024
// tokens, behind the norm 4,096 values a token, and gradients the same way back.
TEST(LinearAttention, ContextRanksShareHeads) {
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(fault({"strategy.context_parallel=2"}), "none");
  EXPECT_THAT(fault({"strategy.context_parallel=16"}),
              HasSubstr("context_parallel (16) × tensor_parallel (2) = 32 does not divide the 16"));
  LayerSharding cut;
  cut.cp = 4;
  const LayerWork work = layer(*preset("qwen3-next-80b-a3b"), kLinear, cut);
  for (const std::vector<LayerStep>* steps : {&work.forward, &work.backward_input}) {
    EXPECT_DOUBLE_EQ(named(*steps, "cp_all_to_all_mixer").payload.value(), 1024 * 12352 * 2);
    EXPECT_DOUBLE_EQ(named(*steps, "cp_all_to_all_mixed").payload.value(), 1024 * 4096 * 2);
  }
  EXPECT_DOUBLE_EQ(named(work.forward, "linear_attention").op.bytes.value(), 1024 * 32 * 5120);
}

// Without recomputation a step executes no less than the model counts.
TEST(LinearAttention, AStepExecutesWhatTheModelCounts) {
  const Scenario scenario =
      shipped("llama3-70b-h100-512.json",
              {"workload.model=qwen3-next-80b-a3b", "cluster.nodes=4", "workload.global_batch=32",
               "strategy.tensor_parallel=1", "strategy.pipeline_parallel=1", "strategy.expert_parallel=32",
               "strategy.sequence_parallel=false", "strategy.virtual_pipeline=1", "strategy.recompute=none"});
  const Flops executed = estimate(lower(scenario)).executed_flops * 32.0;
  const Flops counted = model_flops_per_sample(*scenario.model, scenario.seq_len, {}) * 32.0;
  EXPECT_GE(executed, counted);
  EXPECT_LT(executed, 1.05 * counted);
}

}  // namespace
}  // namespace stepcast::linear_attention_test
