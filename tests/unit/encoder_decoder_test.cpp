#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"
#include "tests/unit/tiny_model.hpp"

// An encoder and its decoder (T5, BART).
namespace stepcast::encoder_decoder_test {
namespace {

using test::faults_of;
using test::named;
using test::shipped;
using test::tiny_model;
using testing::HasSubstr;

/// One encoder and one decoder block, hidden 8, two heads of 4, MLP 16, and a target half as long as its source.
Model tiny() {
  Model model = tiny_model();
  TransformerShape& shape = *model.transformer;
  shape.encoder_layers = 1;
  shape.target_share = 0.5;
  return model;
}

Flops flops_of(const std::vector<LayerStep>& steps) {
  Flops out;
  for (const LayerStep& step : steps) out += step.op.flops;
  return out;
}

// Four source tokens, two of the target. A block's products are 4·8² + 2·8·16 = 512 multiply-adds a token. The encoder:
// 2·4·512 FLOPs, and scores of 4·4 in two heads of 4 twice: 512. The decoder: 2·2·512, half of its own scores' 128,
// and over the source queries and results of 2·8², 2 tokens: 512; keys and values, 4 tokens: 1024; scores of 2·4: 256.
constexpr double kEncoder = 4096 + 512, kDecoder = 2048 + 64 + 512 + 1024 + 256;

TEST(EncoderDecoder, BlocksByHand) {
  const Model model = tiny();
  const LayerWork encoder = layer_work(model, LayerRole::dense_block, 0, 1, 4, {});
  const LayerWork decoder = layer_work(model, LayerRole::dense_block, 1, 1, 4, {});
  EXPECT_DOUBLE_EQ(flops_of(encoder.forward).value(), kEncoder);
  EXPECT_DOUBLE_EQ(flops_of(decoder.forward).value(), kDecoder);
  EXPECT_EQ(encoder.parameters, 512 + 2 * 8);
  EXPECT_EQ(decoder.parameters, 512 + 256 + 3 * 8);
  // Backward: every product twice; attention's fused kernels 2.5 times.
  const Flops backward = flops_of(decoder.backward_input) + flops_of(decoder.backward_weight);
  EXPECT_DOUBLE_EQ(backward.value(), 2 * (2048 + 512 + 1024) + 2.5 * (64 + 256));
  EXPECT_EQ(named(decoder.forward, "cross_kv").op.m, 4);
  EXPECT_EQ(named(decoder.forward, "cross_q").op.m, 2);
}

// Both sides are embedded; the output layer sees the target: 2·2·8·10 FLOPs.
TEST(EncoderDecoder, TheModelCountsBothSides) {
  const Model model = tiny();
  EXPECT_DOUBLE_EQ(model_flops_per_sample(model, 4, {}).value(), 3 * (kEncoder + kDecoder + 320));
  EXPECT_DOUBLE_EQ(flops_of(layer_work(model, LayerRole::output, 0, 1, 4, {}).forward).value(), 320);
  EXPECT_EQ(parameter_count(model), (512 + 16) + (512 + 256 + 24) + 2 * 80 + 8);
}

// Queries, their results and the core's statistics are of the target, keys and values of the source; 16 bit.
TEST(EncoderDecoder, CrossAttentionKeepsBothSides) {
  const Model model = tiny();
  Model alone = model;
  alone.transformer->encoder_layers = 0;
  alone.transformer->target_share = 1;
  const LayerWork crossed = layer_work(model, LayerRole::dense_block, 1, 1, 4, {});
  const LayerWork plain = layer_work(alone, LayerRole::dense_block, 1, 1, 2, {});
  const double norm_and_input = 2.0 * 2 * 2 * 8, heads = 2.0 * (2 * 8 + 4 * 16), result = 2.0 * 2 * 8,
               core = 4.0 * 2 * 2;
  EXPECT_DOUBLE_EQ((crossed.activations - plain.activations).value(), norm_and_input + heads + result + core);
  EXPECT_DOUBLE_EQ((crossed.freed_attention_core - plain.freed_attention_core).value(), core);
}

TEST(EncoderDecoder, TensorRanksShareCrossAttention) {
  LayerSharding cut;
  cut.tp = 2;
  const Model model = tiny();
  const LayerWork part = layer_work(model, LayerRole::dense_block, 1, 1, 4, cut);
  const LayerWork whole = layer_work(model, LayerRole::dense_block, 1, 1, 4, {});
  EXPECT_DOUBLE_EQ(2 * flops_of(part.forward).value(), flops_of(whole.forward).value());
  // Sums after three parts forward; backward of three inputs of the target and one of the source.
  const auto sums = [](const std::vector<LayerStep>& steps) {
    std::vector<double> out;
    for (const LayerStep& step : steps)
      if (step.communication == LayerCommunication::tensor) out.push_back(step.payload.value());
    std::sort(out.begin(), out.end());
    return out;
  };
  EXPECT_EQ(sums(part.forward), (std::vector<double>{32, 32, 32}));
  EXPECT_EQ(sums(part.backward_input), (std::vector<double>{32, 32, 32, 64}));
}

// Raffel et al. 2020: 11 B parameters are the largest; T5X's README states 3,021 sequences a second on 144 A100.
TEST(EncoderDecoder, T5AsPublished) {
  const Scenario scenario = shipped("t5-xl-a100-144.json");
  const Job job = lower(scenario);
  const Flops counted = model_flops_per_sample(*scenario.model, 512, {}) * 1152.0;
  EXPECT_NEAR(estimate(job).executed_flops * 144.0 / counted, 1.02, 0.02);
  EXPECT_NEAR(1152 / estimate(job).step_time.value(), 3021, 0.15 * 3021);
}

TEST(EncoderDecoder, FaultsOfAShape) {
  EXPECT_EQ(faults_of("t5-v1.1-base", [](Model&) {}), "");
  EXPECT_EQ(faults_of("t5-v1.1-base", [](Model& m) { m.transformer->encoder_layers = 24; }),
            "/transformer/encoder_layers: found 24, but the 24 layers hold the decoder's too\n");
  EXPECT_EQ(faults_of("t5-v1.1-base", [](Model& m) { m.transformer->encoder_layers = 0; }),
            "/transformer/encoder_layers: missing: target_share is of an encoder-decoder\n");
  EXPECT_EQ(faults_of("t5-v1.1-base", [](Model& m) { m.transformer->mtp_layers = 1; }),
            "/transformer/mtp_layers: found beside encoder_layers, with which it has no description\n");
  EXPECT_EQ(faults_of("t5-v1.1-base", [](Model& m) { m.family = ModelFamily::encoder; }),
            "/family: found encoder with encoder_layers\n");
}

TEST(EncoderDecoder, WhatHasNoDescriptionIsRefused) {
  const auto faults = [](const std::vector<std::string>& changes) {
    try {
      shipped("t5-xl-a100-144.json", changes);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no fault");
  };
  const auto fault = [&](const std::string& change) { return faults({change}); };
  EXPECT_THAT(fault("strategy.pipeline_parallel=2"),
              HasSubstr("/strategy/pipeline_parallel: found 2, but t5-v1.1-xl is an encoder-decoder"));
  EXPECT_THAT(
      faults({"strategy.tensor_parallel=4", "strategy.sequence_parallel=true"}),
      HasSubstr("/strategy/sequence_parallel: tensor_parallel (4) does not divide the 114 tokens of a rank's target"));
  EXPECT_THAT(fault("strategy.context_parallel=2"), HasSubstr("/strategy/context_parallel: found 2, but t5-v1.1-xl"));
  EXPECT_THAT(fault("workload.adapter_rank=8"), HasSubstr("/workload/adapter_rank: found 8, but t5-v1.1-xl"));
}

}  // namespace
}  // namespace stepcast::encoder_decoder_test
