#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// Hyper-connections: several residual streams that a half reads by weights and writes to all (DeepSeek-V4).
namespace stepcast::hyper_connections_test {
namespace {

using test::named;
using test::preset;
using testing::HasSubstr;

constexpr double kTokens = 4096, kHidden = 4096;

/// An MLP's layer of Llama 3 8B with so many streams.
Model with_streams(int streams) {
  Model model = *preset("llama3-8b");
  model.transformer->residual_streams = streams;
  return model;
}

LayerWork layer(LayerRole role, int streams) {
  return layer_work(with_streams(streams), role, 0, 1, static_cast<int>(kTokens), {});
}

// Of 4 streams 4 weights of the input, 4 of the result and 16 of one another, by a product of all; a bias each, and a
// scale of each kind. Two halves.
TEST(HyperConnections, ParametersByHand) {
  EXPECT_EQ(layer(LayerRole::dense_block, 4).parameters - layer(LayerRole::dense_block, 1).parameters,
            2 * (24 * 4 * kHidden + 24 + 3));
  EXPECT_EQ(layer(LayerRole::output, 4).parameters - layer(LayerRole::output, 1).parameters, 4 * 4 * kHidden + 4 + 1);
}

// In hidden states of a token: 4 read for the weights; 4 read and 1 written; 5 read and 4 written in place of a sum of
// 3. Backward 9 read and 5 written, and 9 read and 4 written.
TEST(HyperConnections, TrafficByHand) {
  const LayerWork work = layer(LayerRole::dense_block, 4);
  const double state = kTokens * kHidden * 2;
  EXPECT_DOUBLE_EQ(named(work.forward, "stream_mappings").op.bytes.value(), 4 * state);
  EXPECT_DOUBLE_EQ(named(work.forward, "stream_mappings").op.flops.value(), 2 * kTokens * 4 * kHidden * 24);
  EXPECT_DOUBLE_EQ(named(work.forward, "stream_input").op.bytes.value(), 5 * state);
  EXPECT_DOUBLE_EQ(named(work.forward, "stream_output").op.bytes.value(), 9 * state);
  EXPECT_DOUBLE_EQ(named(work.backward_input, "stream_output_backward").op.bytes.value(), 14 * state);
  EXPECT_DOUBLE_EQ(named(work.backward_input, "stream_input_backward").op.bytes.value(), 13 * state);
  EXPECT_EQ(named(work.backward_weight, "stream_mappings_wgrad").op.m, 4 * kHidden);
  EXPECT_THROW(named(work.forward, "residual"), std::logic_error);
}

// Layers hand on four hidden states. Each of two halves keeps those, its result and 24 weights in fp32.
TEST(HyperConnections, StreamsAreSentAndKept) {
  const LayerWork one = layer(LayerRole::dense_block, 1), four = layer(LayerRole::dense_block, 4);
  EXPECT_DOUBLE_EQ(four.output.value(), 4 * one.output.value());
  EXPECT_DOUBLE_EQ(four.activation_input.value(), 4 * one.activation_input.value());
  EXPECT_DOUBLE_EQ(layer(LayerRole::embedding, 4).output.value(), 4 * kTokens * kHidden * 2);
  EXPECT_DOUBLE_EQ((four.activations - one.activations).value(), 2 * kTokens * (5 * kHidden * 2 + 24 * 4));
}

// A mask of one byte an element is written and kept in each of two halves.
TEST(HyperConnections, DropoutIsMaskedAsEver) {
  Model model = with_streams(4);
  const LayerWork plain = layer(LayerRole::dense_block, 4);
  model.transformer->dropout = 0.1;
  const LayerWork work = layer_work(model, LayerRole::dense_block, 0, 1, static_cast<int>(kTokens), {});
  EXPECT_DOUBLE_EQ(named(work.forward, "stream_output").op.bytes.value(), kTokens * kHidden * (9 * 2 + 1));
  EXPECT_DOUBLE_EQ((work.activations - plain.activations).value(), 2 * kTokens * kHidden);
  EXPECT_EQ(named(work.backward_input, "dropout_backward").op.kind, OperatorKind::memory);
}

// A block of prediction projects the embedding once and each stream: five products of its width where one stream has
// two, by as many weights.
TEST(HyperConnections, PredictionJoinsEveryStream) {
  Model model = with_streams(4);
  model.transformer->mtp_layers = 1;
  const LayerWork work = layer_work(model, LayerRole::output, 0, 1, static_cast<int>(kTokens), {});
  EXPECT_DOUBLE_EQ(named(work.forward, "mtp_join_embedding").op.flops.value(), 2 * kTokens * kHidden * kHidden);
  EXPECT_DOUBLE_EQ(named(work.forward, "mtp_join_streams").op.flops.value(), 4 * 2 * kTokens * kHidden * kHidden);
  EXPECT_EQ(named(work.backward_weight, "mtp_join_streams_wgrad").op.n, kHidden);
}

TEST(HyperConnections, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_THAT(test::faults_of("bart-large", [](Model& model) { model.transformer->residual_streams = 4; }),
              HasSubstr("/transformer/encoder_layers: found beside residual_streams"));
}

}  // namespace
}  // namespace stepcast::hyper_connections_test
