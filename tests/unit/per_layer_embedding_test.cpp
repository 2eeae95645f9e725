#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/workload/early_stop.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"
#include "tests/unit/tiny_model.hpp"

// Embeddings that each layer has of its own (Gemma 3n, Gemma 4).
namespace stepcast::per_layer_embedding_test {
namespace {

using test::faults_of;
using test::named;
using test::tiny_model;

/// Hidden 8, two heads of 4, MLP 16, vocabulary 10; each of two layers has embeddings of 2 of its own.
Model tiny(int width = 2) {
  Model model = tiny_model();
  TransformerShape& shape = *model.transformer;
  shape.tied_embeddings = true;
  shape.per_layer_embedding = width;
  return model;
}

LayerWork of(const Model& model, LayerRole role, const LayerSharding& sharding = {}) {
  return layer_work(model, role, 0, 1, 4, sharding);
}

bool has(const std::vector<LayerStep>& steps, std::string_view name) {
  return std::any_of(steps.begin(), steps.end(), [&](const LayerStep& step) { return step.op.name == name; });
}

double bytes(const std::vector<LayerStep>& steps, std::string_view name) { return named(steps, name).op.bytes.value(); }

// Behind the MLP, of 4 tokens: 8 to 2 and back, a norm and a sum, and what both products read or give is kept: the
// hidden state, the gate and what it let through, and the norm's input.
TEST(PerLayerEmbedding, ThePartOfABlockByHand) {
  const LayerWork with = of(tiny(), LayerRole::dense_block), without = of(tiny(0), LayerRole::dense_block);
  EXPECT_EQ(with.parameters - without.parameters, 2 * 8 * 2 + 8);
  EXPECT_DOUBLE_EQ((with.activations - without.activations).value(), 4 * 2 * (8 + 2 + 2 + 8));
  const Operator& gate = named(with.forward, "per_layer_gate").op;
  EXPECT_EQ(std::tuple(gate.m, gate.n, gate.k), std::tuple(4, 2, 8));
  const Operator& projection = named(with.forward, "per_layer_projection").op;
  EXPECT_EQ(std::tuple(projection.m, projection.n, projection.k), std::tuple(4, 8, 2));
  EXPECT_DOUBLE_EQ(bytes(with.forward, "per_layer_gated"), 3 * 4 * 2 * 2);
  EXPECT_DOUBLE_EQ(bytes(with.backward_input, "per_layer_gated_backward"), 5 * 4 * 2 * 2);
  EXPECT_DOUBLE_EQ(bytes(with.backward_input, "per_layer_sum_backward"), 3 * 4 * 8 * 2);
  EXPECT_EQ(with.forward.size() - without.forward.size(), 5);
  EXPECT_EQ(with.recompute_norm.size(), without.recompute_norm.size());
}

// Operator by operator the gate's activation is a kernel of its own and kept, and each layer adds zeros of both layers'
// size with its gradient in them; compiled it does not.
TEST(PerLayerEmbedding, OperatorByOperator) {
  LayerSharding eager;
  eager.fused_activation = false;
  const LayerWork with = of(tiny(), LayerRole::dense_block, eager), fused = of(tiny(), LayerRole::dense_block);
  EXPECT_DOUBLE_EQ(bytes(with.forward, "per_layer_gated"), 5 * 4 * 2 * 2);
  EXPECT_DOUBLE_EQ(bytes(with.backward_input, "per_layer_gated_backward"), 9 * 4 * 2 * 2);
  EXPECT_DOUBLE_EQ(bytes(with.backward_input, "per_layer_slice_backward"), 4 * 4 * (2 * 2) * 2);
  EXPECT_DOUBLE_EQ((with.activations - fused.activations).value(), 4 * 2 * 2);
  EXPECT_FALSE(has(fused.backward_input, "per_layer_slice_backward"));
  eager.compiled = true;
  EXPECT_FALSE(has(of(tiny(), LayerRole::dense_block, eager).backward_input, "per_layer_slice_backward"));
}

// Ten rows of 2·2, a product of 8 to 4 and a norm over 2; of 4 tokens the sum, and the norm's input, are kept.
TEST(PerLayerEmbedding, TheTableByHand) {
  const LayerWork with = of(tiny(), LayerRole::embedding), without = of(tiny(0), LayerRole::embedding);
  EXPECT_EQ(with.parameters - without.parameters, 10 * 4 + 8 * 4 + 2);
  EXPECT_DOUBLE_EQ((with.activations - without.activations).value(), 4 * 2 * (4 + 4));
  EXPECT_DOUBLE_EQ(bytes(with.forward, "per_layer_embedding"), 2 * 4 * 4 * 2);
  EXPECT_DOUBLE_EQ(bytes(with.forward, "per_layer_norm"), 2 * 4 * 4 * 2);
  EXPECT_DOUBLE_EQ(bytes(with.forward, "per_layer_sum"), 3 * 4 * 4 * 2);
  EXPECT_DOUBLE_EQ(named(with.forward, "per_layer_words").op.n, 4);
  EXPECT_DOUBLE_EQ(bytes(with.backward_weight, "per_layer_embedding_wgrad"), 3 * 4 * 4 * 2);
  EXPECT_EQ(with.output, without.output);
}

TEST(PerLayerEmbedding, TheModelCountsAllOfIt) {
  const double blocks = 2 * (4 * 64 + 2 * 8 * 16 + 16), parts = 2 * (2 * 8 * 2 + 8);
  EXPECT_EQ(parameter_count(tiny()), blocks + parts + 80 + (10 * 4 + 8 * 4 + 2) + 8);
  // Of each layer three products of 8 and 2: two of its own, and its columns of the words'.
  const double more = model_flops_per_sample(tiny(), 4, {}).value() - model_flops_per_sample(tiny(0), 4, {}).value();
  EXPECT_DOUBLE_EQ(more, 3 * 2 * 4 * 2 * (3 * 8 * 2));
}

// The table is cut by rows and what ranks look up summed, or scattered; products work on the tokens of a rank.
TEST(PerLayerEmbedding, OverTensorRanks) {
  LayerSharding two;
  two.tp = 2;
  two.sequence_parallel = true;
  const LayerWork table = of(tiny(), LayerRole::embedding, two), block = of(tiny(), LayerRole::dense_block, two);
  EXPECT_EQ(table.parameters - of(tiny(0), LayerRole::embedding, two).parameters, 5 * 4 + 8 * 4 + 2);
  EXPECT_DOUBLE_EQ(named(table.forward, "per_layer_words").op.m, 2);
  EXPECT_DOUBLE_EQ(named(block.forward, "per_layer_gate").op.m, 2);
  EXPECT_EQ(block.parameters - of(tiny(0), LayerRole::dense_block, two).parameters, 2 * 8 * 2 + 8);
  double scattered = 0;
  for (const LayerStep& step : table.forward)
    if (step.communication == LayerCommunication::tensor) scattered += step.payload.value();
  EXPECT_DOUBLE_EQ(scattered, 4 * (8 + 4) * 2);
}

// Nothing of it is trained under adapters: no gradient goes to the table, and no input of a product is kept.
TEST(PerLayerEmbedding, FrozenUnderAdapters) {
  LayerSharding adapters;
  adapters.adapter_rank = 1;
  const LayerWork table = of(tiny(), LayerRole::embedding, adapters);
  EXPECT_TRUE(table.backward_input.empty());
  EXPECT_EQ(table.frozen_parameters, 80 + 10 * 4 + 8 * 4 + 2);
  EXPECT_DOUBLE_EQ(table.activations.value(), 4 * 2 * 4);
  const LayerWork with = of(tiny(), LayerRole::dense_block, adapters);
  const LayerWork without = of(tiny(0), LayerRole::dense_block, adapters);
  EXPECT_DOUBLE_EQ((with.activations - without.activations).value(), 4 * 2 * (2 + 8));
}

// Recomputation that stops early repeats the last product, which the norm behind it reads.
TEST(PerLayerEmbedding, EarlyStopEndsAtTheNorm) {
  const auto repeated = steps_repeated_with_early_stop(of(tiny(), LayerRole::dense_block));
  EXPECT_EQ(repeated.back().op.name, "per_layer_projection");
  EXPECT_NE(steps_repeated_with_early_stop(of(tiny(0), LayerRole::dense_block)).back().op.name, "mlp_down");
}

// Checkpoints google/gemma-4-E2B and E4B: 5,123,178,051 and 7,996,156,490 parameters. Without encoders of pictures and
// sounds (475,728,160 and 478,087,456), keys and values that layers do not use (1,536·(16·512 + 4·1,024) and their
// norms' 16·256 + 4·512; 2,560·(15·1,024 + 3·2,048) and 15·256 + 3·512), norms behind attention and MLP, and a scale
// each layer.
TEST(PerLayerEmbedding, GemmasCountAsTheirCheckpoints) {
  const double small = 5123178051.0 - 475728160 - 1536 * (16 * 512.0 + 4 * 1024) - (16 * 256 + 4 * 512);
  EXPECT_EQ(parameter_count(*test::preset("gemma4-2b")), small - 35 * (2 * 1536 + 1));
  const double large = 7996156490.0 - 478087456 - 2560 * (15 * 1024.0 + 3 * 2048) - (15 * 256 + 3 * 512);
  EXPECT_EQ(parameter_count(*test::preset("gemma4-4b")), large - 42 * (2 * 2560 + 1));
}

// MaxText counts 15.43 and 29.70 GFLOP a token of 8,192 (tpu-recipes, training/ironwood: FLOPs and tokens a second of
// one chip).
TEST(PerLayerEmbedding, GemmasFlopsAreMaxTexts) {
  const auto per_token = [](const char* id) {
    return model_flops_per_sample(*test::preset(id), 8192, {}).value() / 8192;
  };
  EXPECT_NEAR(per_token("gemma4-4b") / (1002.5e12 / 33755.24), 1, 1e-4);
  EXPECT_NEAR(per_token("gemma4-2b") / (892.84e12 / 57873.71), 1, 1e-4);
}

TEST(PerLayerEmbedding, FaultsOfAShape) {
  EXPECT_EQ(faults_of("llama3-8b", [](Model& m) { m.transformer->per_layer_embedding = 64; }), "");
  EXPECT_EQ(faults_of("llama3-8b",
                      [](Model& m) {
                        m.transformer->per_layer_embedding = 64;
                        m.transformer->embedding_size = 512;
                      }),
            "/transformer/embedding_size: found beside per_layer_embedding, with which it has no description\n");
}

}  // namespace
}  // namespace stepcast::per_layer_embedding_test
