#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"
#include "models/workload/weight_matrices.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"
#include "tests/unit/tiny_model.hpp"

// Embeddings narrower than the layers (OPT-350M, ELECTRA-small, ALBERT), and layers that share their weights (ALBERT).
namespace stepcast::narrow_embeddings_test {
namespace {

using test::faults_of;
using test::named;
using test::preset;
using test::tiny_model;
using testing::HasSubstr;

/// Four blocks, hidden 8, two heads of 4, MLP 16, and embeddings of 2 for 10 words in 6 places.
Model tiny(ModelFamily family) {
  Model model = tiny_model();
  model.family = family;
  TransformerShape& shape = *model.transformer;
  shape.layers = 4;
  shape.embedding_size = 2;
  shape.tied_embeddings = true;
  shape.biases = true;
  shape.norm = NormKind::layer_norm;
  shape.positions = PositionKind::learned;
  shape.max_positions = 6;
  return model;
}

double parameters_of(const Model& model, LayerRole role) { return layer_work(model, role, 0, 1, 4, {}).parameters; }

// Words are projected before positions are added (OPT's modelling code): 10·2 words, 6·8 positions, 2·8 without a bias.
TEST(NarrowEmbeddings, ADecoderProjectsItsWords) {
  const Model model = tiny(ModelFamily::decoder);
  EXPECT_EQ(parameters_of(model, LayerRole::embedding), 10 * 2 + 6 * 8 + 2 * 8);
  EXPECT_EQ(parameters_of(model, LayerRole::output), 2 * 8 + 8 * 2);  // final norm, projection
  EXPECT_EQ(layer_work(model, LayerRole::output, 0, 1, 4, {}).tied_parameters, 10 * 2);
}

// An encoder projects the normed sum of its embeddings, with biases (ELECTRA's and ALBERT's).
TEST(NarrowEmbeddings, AnEncoderProjectsTheirSum) {
  Model model = tiny(ModelFamily::encoder);
  model.transformer->token_types = 2;
  EXPECT_EQ(parameters_of(model, LayerRole::embedding), (10 + 6 + 2) * 2 + 2 * 2 + 2 * 8 + 8);
  EXPECT_EQ(parameters_of(model, LayerRole::output), 8 * 2 + 2);
  // BERT's heads: pooler 8·8 + 8, transform 8·2 + 2 with a norm of 2·2, ten biases, next sentence 2·8 + 2.
  model.transformer->pooler_and_heads = true;
  EXPECT_EQ(parameters_of(model, LayerRole::output), 72 + 18 + 4 + 10 + 18);
}

// Four tokens: products of 8 × 2 there and back, logits of 2 × 10. Blocks of 4·8² + 2·8·16 multiply-adds and half of
// 2·4·4·8 scores' FLOPs.
TEST(NarrowEmbeddings, ProductsByHand) {
  const Model model = tiny(ModelFamily::decoder);
  const double projection = 2 * 4 * 2 * 8, logits = 2 * 4 * 2 * 10, block = 2 * 4 * 512 + 2 * 4 * 4 * 8;
  const LayerWork entry = layer_work(model, LayerRole::embedding, 0, 1, 4, {});
  const LayerWork exit = layer_work(model, LayerRole::output, 0, 1, 4, {});
  for (const std::string_view name : {"embedding_in_dgrad", "embedding_out_dgrad"})
    EXPECT_EQ(named(name == "embedding_in_dgrad" ? entry.backward_input : exit.backward_input, name).op.flops.value(),
              projection);
  EXPECT_EQ(named(entry.forward, "embedding_in").op.flops.value(), projection);
  EXPECT_EQ(named(entry.backward_weight, "embedding_in_wgrad").op.flops.value(), projection);
  EXPECT_EQ(named(exit.forward, "embedding_out").op.flops.value(), projection);
  EXPECT_EQ(named(exit.backward_weight, "embedding_out_wgrad").op.flops.value(), projection);
  EXPECT_EQ(named(exit.forward, "logits").op.flops.value(), logits);
  EXPECT_EQ(model_flops_per_sample(model, 4, {}).value(), 3 * (4 * block + 2 * projection + logits));
  EXPECT_EQ(model_flops_per_sample(model, 4, {.output_layer = false}).value(), 3 * (4 * block + projection));
  // What the projections read is kept: four tokens of 2, and of 2 behind the last one; 16 bit.
  Model wide = model;
  wide.transformer->embedding_size = 0;
  EXPECT_EQ((entry.activations - layer_work(wide, LayerRole::embedding, 0, 1, 4, {}).activations).value(), 4 * 2 * 2);
  EXPECT_EQ((exit.activations - layer_work(wide, LayerRole::output, 0, 1, 4, {}).activations).value(), 4 * 2 * 2);
}

TEST(NarrowEmbeddings, EveryMatrixIsListed) {
  const Model model = tiny(ModelFamily::decoder);
  double elements = 0;
  for (const WeightMatrix& matrix : weight_matrices(layer_work(model, LayerRole::embedding, 0, 1, 4, {})))
    elements += matrix.rows * matrix.columns * matrix.count;
  EXPECT_EQ(elements, parameters_of(model, LayerRole::embedding));
}

// Frozen tables need no gradient, which the product before them would give.
TEST(NarrowEmbeddings, AdaptersStopAtTheLayers) {
  const Model model = tiny(ModelFamily::decoder);
  const LayerWork entry = layer_work(model, LayerRole::embedding, 0, 1, 4, {.adapter_rank = 2});
  EXPECT_THROW(named(entry.backward_input, "embedding_in_dgrad"), std::logic_error);
  EXPECT_EQ(entry.frozen_parameters, parameters_of(model, LayerRole::embedding));
}

TEST(NarrowEmbeddings, FullWidthIsNoWidth) {
  Model model = tiny(ModelFamily::encoder);
  model.transformer->embedding_size = 8;
  Model plain = model;
  plain.transformer->embedding_size = 0;
  EXPECT_EQ(parameter_count(model), parameter_count(plain));
  EXPECT_EQ(model_flops_per_sample(model, 4, {}).value(), model_flops_per_sample(plain, 4, {}).value());
}

// Four layers with the weights of one, or in two groups. Each computes for itself.
TEST(SharedLayers, HaveTheWeightsOfOne) {
  Model model = tiny(ModelFamily::encoder);
  const double own = parameter_count(model), flops = model_flops_per_sample(model, 4, {}).value();
  const double block = parameters_of(model, LayerRole::dense_block);
  model.transformer->hidden_groups = 1;
  EXPECT_EQ(parameter_count(model), own - 3 * block);
  EXPECT_EQ(model_flops_per_sample(model, 4, {}).value(), flops);
  model.transformer->hidden_groups = 2;
  EXPECT_EQ(parameter_count(model), own - 2 * block);
  const LayerWork first = layer_work(model, LayerRole::dense_block, 2, 1, 4, {});
  const LayerWork second = layer_work(model, LayerRole::dense_block, 3, 1, 4, {});
  EXPECT_EQ(first.parameters, block);
  EXPECT_EQ(second.parameters, 0);
  EXPECT_EQ(second.backward_weight.size(), first.backward_weight.size());
  EXPECT_EQ(second.activations, first.activations);
}

Json bert_scenario(const Json& changes) {
  Json model = Model::fields().write(*preset("bert-base"));
  for (const auto& [key, value] : changes.items()) model["transformer"][key] = value;
  return {{"cluster", {{"node", "dgx-a100-80gb"}, {"nodes", 1}}},
          {"workload", {{"model", model}, {"global_batch", 256}}},
          {"strategy", {{"framework", "pytorch-ddp"}, {"micro_batch", 32}}}};
}

Scenario resolved(const Json& document) { return resolve(document, "test", {}, test::catalog()); }

// BERT-Base's twelve blocks of 7.1 M parameters: all but one of them are not reduced, updated or held.
TEST(SharedLayers, AreReducedAndUpdatedOnce) {
  const Scenario own = resolved(bert_scenario(Json::object()));
  const Scenario shared = resolved(bert_scenario({{"hidden_groups", 1}}));
  const Job many = lower(own), one = lower(shared);
  const double block = 4.0 * (768 * 768 + 768) + 2.0 * 768 * 3072 + 3072 + 768 + 4 * 768;
  EXPECT_EQ(many.stage_parameters[0] - one.stage_parameters[0], 11 * block);
  EXPECT_EQ(many.chunks[0].forward, one.chunks[0].forward);
  EXPECT_LT(one.optimizer, many.optimizer);
  EXPECT_LT(estimate(one).step_time, estimate(many).step_time);
  const auto saved = memory_of(many).stages[0].optimizer - memory_of(one).stages[0].optimizer;
  EXPECT_DOUBLE_EQ(saved.value() / state_bytes(own).optimizer, 11 * block);
}

TEST(SharedLayers, WhatHasNoDescriptionIsRefused) {
  const auto faults = [](const std::string& key, const Json& value) {
    Json document = bert_scenario({{"hidden_groups", 1}});
    document["strategy"]["framework"] = key == "sharding" ? "pytorch-fsdp" : "megatron-lm";
    document["strategy"][key] = value;
    try {
      resolved(document);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no fault");
  };
  EXPECT_THAT(faults("pipeline_parallel", 2),
              HasSubstr("/strategy/pipeline_parallel: found 2, but layers of bert-base"));
  EXPECT_THAT(faults("sharding", "fsdp"), HasSubstr("/strategy/sharding: found fsdp, but layers of bert-base"));
  EXPECT_EQ(faults_of("bert-base", [](Model& m) { m.transformer->hidden_groups = 5; }),
            "/transformer/hidden_groups: 5 groups do not divide the 12 layers\n");
  EXPECT_EQ(faults_of("mixtral-8x7b", [](Model& m) { m.transformer->hidden_groups = 1; }),
            "/transformer/experts: found beside hidden_groups, with which it has no description\n");
  EXPECT_EQ(faults_of("deepseek-v3",
                      [](Model& m) {
                        m.transformer->embedding_size = 64;
                        m.transformer->mtp_layers = 1;
                      }),
            "/transformer/embedding_size: found 64 beside mtp_layers, with which it has no description\n");
}

}  // namespace
}  // namespace stepcast::narrow_embeddings_test
