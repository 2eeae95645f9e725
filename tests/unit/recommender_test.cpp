#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/workload/operators.hpp"
#include "models/workload/steps.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::recommender_test {
namespace {

using namespace literals;

/// Two tables of a million rows and one of ten, of which a sample looks up 1, 1 and 3 rows; vectors of 16.
Model round_model() {
  Model model;
  model.id = "round";
  model.family = ModelFamily::recommender;
  RecommenderShape shape;
  shape.dense_features = 4;
  shape.embedding_dim = 16;
  shape.tables = {{2, 1e6, 1}, {1, 10, 3}};
  shape.bottom_mlp = {8, 16};
  shape.top_mlp = {4, 1};
  model.recommender = shape;
  return model;
}

LayerWork layer(const Model& model, int index, double micro_batch, int devices) {
  LayerSharding cuts;
  cuts.ep = devices;
  cuts.bytes_per_element = 4;
  return layer_work(model, LayerRole::cnn, index, micro_batch, 0, cuts);
}

const LayerStep* named(const std::vector<LayerStep>& steps, std::string_view name) {
  for (const LayerStep& step : steps)
    if (step.op.name == name) return &step;
  return nullptr;
}

TEST(Recommender, CountsTablesAndMlps) {
  const Model model = round_model();
  EXPECT_EQ(layer_count(model), 4);
  // Tables (2·10⁶ + 10)·16. Bottom 4·8 + 8 + 8·16 + 16; dot of 4 vectors: 6 pairs + 16; top 22·4 + 4 + 4·1 + 1.
  EXPECT_EQ(parameter_count(model), (2e6 + 10) * 16 + 40 + 144 + 92 + 5);
  // 2·(4·8 + 8·16) + 2·4·4·16 + 2·(22·4 + 4), three times.
  EXPECT_DOUBLE_EQ(model_flops_per_sample(model, 0, {}).value(), 3 * (320 + 512 + 184));
}

TEST(Recommender, MlperfsHasItsPublishedSize) {
  Diagnostics diagnostics("");
  const auto model = find_model("dlrm", "", diagnostics);
  ASSERT_TRUE(model);
  // 187,767,399 rows of 128 (MLPerf Training, Criteo 1TB capped at 40 million) and 2.37 million of the MLPs.
  EXPECT_EQ(model->recommender->table_parameters(), 187767399.0 * 128);
  EXPECT_NEAR(workload::recommender_dense_parameters(*model->recommender) / 1e6, 2.37, 0.01);
}

TEST(Recommender, ExchangesVectorsForwardAndTheirGradientsBackward) {
  const LayerWork work = layer(round_model(), 0, 100, 8);
  const LayerStep* vectors = named(work.forward, "embeddings");
  const LayerStep* gradients = named(work.backward_input, "embedding_gradients");
  const LayerStep* indices = named(work.forward, "indices");
  ASSERT_TRUE(vectors && gradients && indices);
  // 100 samples × 3 vectors of 16 in fp32, and 5 indices of 8 bytes, whatever the number of devices.
  EXPECT_EQ(vectors->payload, Bytes(100 * 3 * 16 * 4));
  EXPECT_EQ(gradients->payload, vectors->payload);
  EXPECT_EQ(indices->payload, Bytes(100 * 5 * 8));
  EXPECT_EQ(vectors->collective, LayerCollective::all_to_all);
  EXPECT_EQ(vectors->communication, LayerCommunication::expert);
}

TEST(Recommender, ExchangesNothingOnOneDevice) {
  const LayerWork work = layer(round_model(), 0, 100, 1);
  for (const LayerStep& step : work.forward) EXPECT_EQ(step.communication, LayerCommunication::none);
  for (const LayerStep& step : work.backward_input) EXPECT_EQ(step.communication, LayerCommunication::none);
}

TEST(Recommender, TablesAreSharedOutAndTheirRowsAreReadOnce) {
  const LayerWork work = layer(round_model(), 0, 100, 8);
  EXPECT_DOUBLE_EQ(work.frozen_expert_parameters, (2e6 + 10) * 16 / 8);
  EXPECT_EQ(work.expert_parameters, 0);
  // 800 samples: of a million rows 799.68 are touched (two twice in a thousand draws), of ten all.
  const double touched = 2 * 1e6 * (1 - std::pow(1 - 1e-6, 800)) + 10;
  const double rows = touched / 8 * 16 * 4;
  EXPECT_NEAR(named(work.forward, "embedding_lookup")->op.bytes.value(), rows + 100 * 5 * 8 + 100 * 3 * 16 * 4, 1e-3);
}

TEST(Recommender, MoreDevicesMoveAsMuchEachAndHoldLess) {
  const LayerWork few = layer(round_model(), 0, 100, 2), many = layer(round_model(), 0, 100, 64);
  EXPECT_EQ(named(few.forward, "embeddings")->payload, named(many.forward, "embeddings")->payload);
  EXPECT_DOUBLE_EQ(few.frozen_expert_parameters, 32 * many.frozen_expert_parameters);
}

TEST(Recommender, CrossLayersAreTwoProductsEach) {
  Model model = round_model();
  model.recommender->interaction = Interaction::cross;
  model.recommender->cross_layers = 2;
  model.recommender->cross_rank = 8;
  const LayerWork work = layer(model, 1, 10, 1);
  double flops = 0;
  for (const LayerStep& step : work.forward) flops += step.op.flops.value();
  // Vectors of 4·16 through rank 8 and back, twice, for 10 samples.
  EXPECT_DOUBLE_EQ(flops, 10 * 2 * 2 * (64.0 * 8 + 8 * 64));
  EXPECT_EQ(work.parameters, 2 * (2 * 64 * 8 + 64));
}

TEST(Recommender, SaysWhatIsWrongWithAShape) {
  Model model = round_model();
  model.recommender->bottom_mlp = {8, 12};
  model.recommender->cross_rank = 4;
  Diagnostics diagnostics("");
  check_model(model, "/workload/model", diagnostics);
  std::vector<std::string> pointers;
  for (const Fault& fault : diagnostics.faults()) pointers.push_back(fault.pointer);
  EXPECT_THAT(pointers, testing::UnorderedElementsAre("/workload/model/recommender/bottom_mlp",
                                                      "/workload/model/recommender/cross_rank"));
}

TEST(Recommender, TablesAreInMemoryOnceOverAllDevices) {
  const Scenario eight = test::shipped("systems/dlrm.json");
  const Job job = lower(eight);
  EXPECT_EQ(job.groups.expert.size, eight.devices());
  // 24.0 billion parameters of four bytes, updated by SGD.
  const MemoryReport memory = memory_of(job);
  const double tables = 187767399.0 * 128 * 4 / eight.devices();
  EXPECT_NEAR(memory.stages.front().parameters.value() / tables, 1, 0.01);
  EXPECT_LT(memory.stages.front().optimizer, 0.1 * memory.stages.front().parameters);
  // Only the MLPs are all-reduced.
  EXPECT_LT(job.stage_parameters.front(), 3e6);
}

}  // namespace
}  // namespace stepcast::recommender_test
