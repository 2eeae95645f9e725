#include "models/parallelism/compression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/parallelism/lowering.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/workload/weight_matrices.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::compression_test {
namespace {

using namespace literals;
using test::preset;
using test::shipped;

std::vector<WeightMatrix> matrices(const char* id, LayerRole role, int index) {
  return weight_matrices(layer_work(*preset(id), role, index, 1, 128, {}));
}

// ResNet-50 begins with 64 filters of 7 × 7 over three channels.
TEST(WeightMatrices, OfAConvolutionAreOutputsByWindow) {
  const std::vector<WeightMatrix> first = matrices("resnet50", LayerRole::cnn, 0);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_DOUBLE_EQ(first[0].rows, 64);
  EXPECT_DOUBLE_EQ(first[0].columns, 3 * 7 * 7);
}

// BERT-large's tables hold a vector of 1024 for each word, position and kind of token.
TEST(WeightMatrices, OfAnEmbeddingAreItsTables) {
  const Model& bert = *preset("bert-large");
  double elements = 0;
  for (const WeightMatrix& table : matrices("bert-large", LayerRole::embedding, 0)) {
    EXPECT_DOUBLE_EQ(table.columns, 1024);
    elements += table.rows * table.columns * table.count;
  }
  EXPECT_DOUBLE_EQ(elements, 1024.0 * (bert.transformer->vocab + 512 + 2));
}

// The output layer multiplies by the embedding table, which is counted with the embedding: what it has of its own are
// pooler and transform.
TEST(WeightMatrices, OfATiedOutputLayerLeaveTheTableOut) {
  const std::vector<WeightMatrix> heads = matrices("bert-large", LayerRole::output, 0);
  ASSERT_EQ(heads.size(), 2U);
  for (const WeightMatrix& head : heads) EXPECT_DOUBLE_EQ(head.rows * head.columns, 1024 * 1024);
}

/// Elements of gradients over those that PowerSGD sends.
double powersgd_ratio(const char* scenario, const char* model, int rank) {
  const Scenario changed =
      shipped(scenario, {fmt::format("workload.model={}", model), "strategy.compression.method=powersgd",
                         fmt::format("strategy.compression.rank={}", rank)});
  return 4 / compression_of(lower(changed), 4).bytes_per_element;
}

double of_cnn(const char* model, int rank) { return powersgd_ratio("resnet50-v100-8gpus.json", model, rank); }

// Vogels et al. 2019 (arXiv 1905.13727): 243, 136 and 72 times less for ResNet-18. VGG-16 and ResNet-50 by PyTorch's
// rule over their layer tables, r (a + b) of every a × b that gets smaller by half.
TEST(PowerSgd, CompressesConvolutionsAsPublished) {
  EXPECT_NEAR(of_cnn("resnet18", 1) / 243, 1, 0.02);
  EXPECT_NEAR(of_cnn("resnet18", 2) / 136, 1, 0.02);
  EXPECT_NEAR(of_cnn("resnet18", 4) / 72, 1, 0.02);
  EXPECT_NEAR(of_cnn("resnet50", 1) / 187, 1, 0.01);
  EXPECT_NEAR(of_cnn("resnet50", 4) / 67, 1, 0.01);
  EXPECT_NEAR(of_cnn("vgg16", 1) / 1479, 1, 0.01);
  EXPECT_NEAR(of_cnn("vgg16", 4) / 414, 1, 0.01);
}

// BERT-large at rank 4: 24 blocks send 4 × (4096 + 2048 + 2 · 5120) elements in factors, word and position tables
// 4 × (30522 + 1024 + 512 + 1024), two heads 4 × 2048 each, besides biases and norms: about 9 MB of 1.34 GB.
TEST(PowerSgd, CompressesEmbeddingTables) {
  const double factors = 24 * 4 * (4096 + 2048 + 2 * 5120) + 4 * (30522 + 1024 + 512 + 1024) + 2 * 4 * 2048;
  const double sent = 336.2e6 / powersgd_ratio("systems/pytorch-ddp.json", "bert-large", 4);
  EXPECT_GT(sent, factors);
  EXPECT_LT(sent * 4, 9.5e6);
}

// 42 MB of signs from each of 64 ranks, of which 56 in 64 leave a node behind 25 Gb/s: 94 ms before anything else,
// where a ring would add up what cannot be added up on its way.
TEST(Signs, AreExchangedAndGatheredNotSummedInARing) {
  const Scenario scenario = shipped("systems/deepspeed-1bit-adam.json");
  EXPECT_EQ(synchronization_plan(scenario).reduction, CollectiveKind::all_to_all);
  const Job job = lower(scenario);
  Bytes exchanged, gathered;
  Seconds sum;
  for (const SyncUnit& unit : sync_units(job, 0)) {
    exchanged += unit.reduce.payload;
    gathered += unit.signs.payload;
    sum += unit.reduce_alone;
  }
  EXPECT_NEAR(exchanged.in(1_MB), 42, 1);
  EXPECT_EQ(gathered, exchanged);
  EXPECT_GT(sum, 94_ms);
}

TEST(Pulls, OfParametersAreNotThinnedOut) {
  const auto pulled = [](CompressionMethod method) {
    const Compression compression = compression_of({method, 0.01, 4}, 4, {}, 1e6);
    return pulled_bytes(compression, 4, PulledContent::parameters, 8);
  };
  EXPECT_DOUBLE_EQ(pulled(CompressionMethod::none), 4);
  EXPECT_DOUBLE_EQ(pulled(CompressionMethod::fp16), 2);
  for (const CompressionMethod method :
       {CompressionMethod::top_k, CompressionMethod::random_k, CompressionMethod::one_bit, CompressionMethod::two_bit})
    EXPECT_DOUBLE_EQ(pulled(method), 4) << name_of(method);
}

// 1 % of the elements, 8 bytes each: 8 workers choose 8 % at most, 100 workers more than the dense gradient takes.
TEST(Pulls, OfSummedGradientsGrowWithTheWorkersChoices) {
  const auto pulled = [](CompressionMethod method, int workers) {
    const Compression compression = compression_of({method, 0.01, 4}, 4, {}, 1e6);
    return pulled_bytes(compression, 4, PulledContent::summed_gradients, workers);
  };
  EXPECT_DOUBLE_EQ(pulled(CompressionMethod::top_k, 8), 0.64);
  EXPECT_DOUBLE_EQ(pulled(CompressionMethod::top_k, 100), 4);
  EXPECT_DOUBLE_EQ(pulled(CompressionMethod::random_k, 100), 0.04);
  EXPECT_DOUBLE_EQ(pulled(CompressionMethod::one_bit, 100), 0.125);
  EXPECT_DOUBLE_EQ(pulled(CompressionMethod::two_bit, 100), 4);
}

/// What the fault at the compression's method says; "none" without one.
std::string fault(const char* name, const std::vector<std::string>& changes) {
  try {
    shipped(name, changes);
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 1U) << error.what();
    EXPECT_EQ(error.faults().front().pointer, "/strategy/compression/method");
    return error.what();
  }
  return "none";
}

TEST(CompressionRules, AveragedModelsAreSentWhole) {
  for (const char* name : {"systems/gossip-ring.json", "systems/gossip-pairs.json"}) {
    for (const char* method : {"top-k", "random-k", "1-bit", "2-bit"})
      EXPECT_THAT(fault(name, {fmt::format("strategy.compression.method={}", method)}),
                  testing::HasSubstr("averages whole models"))
          << method;
    EXPECT_EQ(fault(name, {"strategy.compression.method=fp16"}), "none");
  }
  // Between two exchanges, differences are sent, of which a part is useful.
  EXPECT_EQ(fault("systems/local-sgd-diloco.json", {"strategy.compression.method=top-k"}), "none");
}

TEST(CompressionRules, TwoBitsAreForPushes) {
  EXPECT_THAT(fault("systems/pytorch-ddp.json", {"strategy.compression.method=2-bit"}),
              testing::HasSubstr("push to parameter servers"));
  EXPECT_THAT(fault("systems/local-sgd-diloco.json", {"strategy.compression.method=2-bit"}),
              testing::HasSubstr("push to parameter servers"));
  EXPECT_EQ(fault("systems/mxnet-dist-sync.json", {}), "none");
}

TEST(CompressionRules, MaskedSumsAreNotCompressed) {
  EXPECT_THAT(fault("systems/federated.json",
                    {"strategy.federated.secure_aggregation=true", "strategy.compression.method=top-k"}),
              testing::HasSubstr("masks every element"));
  EXPECT_EQ(fault("systems/federated.json",
                  {"strategy.federated.secure_aggregation=false", "strategy.compression.method=top-k"}),
            "none");
}

}  // namespace
}  // namespace stepcast::compression_test
