#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/memory/memory.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/parallelism/parameter_update.hpp"
#include "models/reliability/checkpoint.hpp"
#include "models/workload/newton_schulz.hpp"
#include "models/workload/weight_matrices.hpp"
#include "planner/launch/launch.hpp"
#include "tests/unit/shipped.hpp"

// strategy.optimizer muon: which matrices, what it keeps of them, Newton–Schulz, and who does it.
namespace stepcast::muon_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Of a matrix of 2 × 3, in each of five steps 2 × 2 over 3, 2 × 2 over 2 and 2 × 3 over 2: 2·(12 + 8 + 12) = 64.
TEST(NewtonSchulz, FlopsByHand) {
  EXPECT_EQ(newton_schulz_flops({2, 3, 1}).value(), 5 * 64);
  EXPECT_EQ(newton_schulz_flops({3, 2, 1}).value(), 5 * 64);
  EXPECT_EQ(newton_schulz_flops({4096, 14336, 1}).value(), 5 * (4 * std::pow(4096, 2) * 14336 + 2 * std::pow(4096, 3)));
}

TEST(NewtonSchulz, ProductsAreInSixteenBit) {
  for (const Operator& op : newton_schulz_step({128, 64, 1})) EXPECT_TRUE(op.sixteen_bit) << op.name;
}

std::vector<std::pair<double, double>> shapes(const std::vector<WeightMatrix>& matrices) {
  std::vector<std::pair<double, double>> out;
  out.reserve(matrices.size());
  for (const WeightMatrix& matrix : matrices) out.emplace_back(matrix.rows, matrix.columns);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<WeightMatrix> hidden(const char* id, LayerRole role) {
  return hidden_matrices(layer_work(*test::preset(id), role, 0, 1, 128, {}), role);
}

// Llama 3 8B: 32 heads and twice 8 of 128 from 4,096; back; two gates of 14,336; back.
TEST(HiddenMatrices, AreABlocksProducts) {
  EXPECT_EQ(shapes(hidden("llama3-8b", LayerRole::dense_block)),
            (std::vector<std::pair<double, double>>{{4096, 4096}, {4096, 14336}, {6144, 4096}, {28672, 4096}}));
}

TEST(HiddenMatrices, AreNeitherEmbeddingsNorTheOutputLayer) {
  EXPECT_THAT(hidden("llama3-8b", LayerRole::embedding), IsEmpty());
  EXPECT_THAT(hidden("llama3-8b", LayerRole::output), IsEmpty());
  EXPECT_THAT(hidden("gpt2", LayerRole::output), IsEmpty());
}

// DeepSeek-V3: two gates of 2,048 from 7,168 and back, for 256 experts over 8 ranks; the router beside the dense ones.
TEST(HiddenMatrices, ExpertsHaveTheirOwn) {
  LayerSharding sharding;
  sharding.ep = 8;
  const LayerWork work = layer_work(*test::preset("deepseek-v3"), LayerRole::moe_block, 3, 1, 128, sharding);
  const std::vector<WeightMatrix> experts = expert_matrices(work);
  EXPECT_EQ(shapes(experts), (std::vector<std::pair<double, double>>{{4096, 7168}, {7168, 2048}}));
  for (const WeightMatrix& matrix : experts) EXPECT_EQ(matrix.count, 32);
  EXPECT_THAT(shapes(hidden_matrices(work, LayerRole::moe_block)), Contains(std::pair<double, double>(256, 7168)));
}

// 32 blocks of 6,144·4,096 + 4,096² + 28,672·4,096 + 4,096·14,336.
TEST(HiddenMatrices, OfAModelByHand) {
  EXPECT_EQ(hidden_parameter_count(*test::preset("llama3-8b"), 0, AdapterTargets::attention), 32 * 218103808.0);
}

// Besides them a model has its two tables, and norms and biases, which are few.
TEST(HiddenMatrices, AreAllButTablesAndVectors) {
  for (const char* id : {"llama3-70b", "deepseek-v3", "kimi-k2"}) {
    const Model& model = *test::preset(id);
    const double tables = 2.0 * model.transformer->vocab * model.transformer->hidden;
    const double hidden = hidden_parameter_count(model, 0, AdapterTargets::attention);
    const double vectors = parameter_count(model) - tables - hidden;
    EXPECT_GE(vectors, 0) << id;
    EXPECT_LT(vectors, 1e-4 * hidden) << id;
  }
}

TEST(HiddenMatrices, AreAllOfAdapters) {
  const Model& model = *test::preset("llama3-8b");
  for (const AdapterTargets targets : {AdapterTargets::attention, AdapterTargets::all_linear})
    EXPECT_EQ(hidden_parameter_count(model, 16, targets), adapter_parameter_count(model, 16, targets));
}

// One momentum; gradient read, parameter and momentum read and written, copy written, and 16 bit handed over and back.
TEST(Muon, StatesAndTrafficByHand) {
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::muon, 4), 4);
  EXPECT_EQ(optimizer_state_bytes(outside_matrices(OptimizerKind::muon), 4), 8);
  EXPECT_EQ(least_update_bytes(OptimizerKind::muon, {.gradient = 4, .parameter = 4, .copy = 2}), 4 + 8 + 8 + 2 + 4);
}

Scenario llama(std::vector<std::string> changes) {
  for (const char* change : {"workload.model=llama3-8b", "strategy.pipeline_parallel=1", "strategy.virtual_pipeline=1",
                             "strategy.optimizer=muon"})
    changes.insert(changes.begin(), change);
  return test::shipped("llama3-70b-h100-512.json", changes);
}

// Two moments in 4 bytes each less one of them for 218,103,808/2 parameters in each of 32 blocks, on two tensor ranks.
TEST(Muon, MemoryHoldsOneMomentumOfMatrices) {
  const std::vector<std::string> whole{"strategy.tensor_parallel=2", "strategy.sharding=none"};
  std::vector<std::string> by_adam = whole;
  by_adam.emplace_back("strategy.optimizer=adam");
  const Scenario muon = llama(whole), adam = llama(by_adam);
  const auto states = [](const Scenario& scenario) {
    return memory_of(lower(scenario)).stages.front().optimizer.value();
  };
  EXPECT_EQ(states(adam) - states(muon), 4 * 32 * 218103808.0 / 2);
}

TEST(Muon, CheckpointsHoldOneMomentumOfMatrices) {
  const Scenario muon = llama({}), adam = llama({"strategy.optimizer=adam"});
  EXPECT_EQ(checkpoint_size(lower(adam)).value() - checkpoint_size(lower(muon)).value(), 4 * 32 * 218103808.0);
}

// 32 replicas of two tensor ranks have one matrix of each shape each; 31 leave one with two of each.
TEST(Muon, RanksOwnWholeMatrices) {
  const auto owned = [](int data_parallel) {
    const Scenario scenario =
        llama({"strategy.tensor_parallel=2", fmt::format("cluster.nodes={}", data_parallel / 4),
               fmt::format("workload.global_batch={}", 2 * data_parallel), "strategy.sharding=zero-1"});
    return owned_parameters(lower(scenario), 0);
  };
  const double block = 218103808.0 / 2;
  EXPECT_EQ(owned(32).in_matrices, block);
  // 28 ranks: four have two of the largest, 28,672 × 4,096 over two; the others follow where least lies.
  EXPECT_GT(owned(28).in_matrices, 32 * block / 28);
  EXPECT_LE(owned(28).in_matrices, 32 * block / 28 + 28672.0 * 4096 / 2);
  // More ranks than matrices: one has the largest.
  EXPECT_EQ(owned(256).in_matrices, 28672.0 * 4096 / 2);
}

// Mixtral's 256 experts' matrices of 28,672 × 4,096 and 256 of half their size, u, on 40 ranks: 16 have seven of the
// first (14 u), 24 have six (12 u), and get two of the others; 208 are left, five each and a sixth to eight: 20 u. Of
// 32 blocks' own, 32 ranks have a product to Q, K and V; back from attention the other eight have two, and 16 one more.
TEST(Muon, ManyMatricesOfOneShapeAreDealtInTurn) {
  const Scenario scenario =
      llama({"workload.model=mixtral-8x7b", "strategy.tensor_parallel=1", "cluster.nodes=5", "workload.global_batch=40",
             "strategy.sharding=zero-1", "strategy.sequence_parallel=false"});
  EXPECT_EQ(owned_parameters(lower(scenario), 0).in_matrices, 20 * 4096.0 * 14336 + (6144 + 4096) * 4096.0);
}

// By a share of the rate that products sustain; the update of all matrices by each replica, or of a share.
TEST(Muon, TheUpdateMultiplies) {
  const auto seconds = [](std::vector<std::string> changes) {
    changes.insert(changes.end(), {"strategy.tensor_parallel=2", "cluster.nodes=8", "workload.global_batch=512"});
    const Scenario scenario = llama(changes);
    return lower(scenario).optimizer.value();
  };
  double flops = 0;
  for (const WeightMatrix& matrix : {WeightMatrix{3072, 4096}, {4096, 2048}, {14336, 4096}, {4096, 7168}})
    flops += newton_schulz_flops(matrix).value();
  const double whole = seconds({"strategy.sharding=none"});
  const double extra = whole - seconds({"strategy.sharding=none", "strategy.optimizer=lion"});
  EXPECT_GT(extra, 32 * flops / 989e12);
  EXPECT_LT(extra, 32 * flops / 500e12);
  EXPECT_NEAR(seconds({"strategy.sharding=zero-1"}) / whole, 1.0 / 32, 0.003);
}

std::string faults(const char* scenario, const std::vector<std::string>& changes) {
  try {
    test::shipped(scenario, changes);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Muon, WhatCutsMatricesIsAFault) {
  const std::string fsdp = faults("llama3-70b-h100-512.json", {"strategy.optimizer=muon", "strategy.sharding=fsdp"});
  EXPECT_THAT(fsdp, HasSubstr("/strategy/optimizer: found muon, but fsdp cuts parameters"));
  EXPECT_THAT(fsdp, HasSubstr("adam, or sharding zero-1 or none"));
  EXPECT_THAT(faults("llama3-70b-h100-512.json", {"strategy.optimizer=muon", "strategy.sharding=zero-2",
                                                  "strategy.pipeline_parallel=1", "strategy.virtual_pipeline=1"}),
              HasSubstr("found muon, but zero-2 cuts gradients"));
  EXPECT_THAT(faults("resnet50-v100-8gpus.json", {"strategy.optimizer=muon"}),
              HasSubstr("found muon, but which matrices of"));
  EXPECT_THAT(faults("llama3-70b-h100-512.json", {"strategy.optimizer=muon", "strategy.offload_optimizer=true"}),
              HasSubstr("found muon, but processors update by adam"));
}

TEST(Muon, ParameterServersHaveNone) {
  EXPECT_THAT(faults("systems/parameter-server-ssp.json", {"strategy.optimizer=muon", "workload.model=bert-base"}),
              HasSubstr("/strategy/optimizer: found muon, but parameter servers update on processors"));
}

TEST(Muon, IsWrittenForMegatron) {
  const auto arguments = [](const std::string& sharding) {
    return megatron_arguments(
        test::shipped("llama3-70b-h100-512.json", {"strategy.optimizer=muon", "strategy.sharding=" + sharding}));
  };
  EXPECT_THAT(arguments("none"), Contains("--optimizer muon"));
  EXPECT_THAT(arguments("zero-1"), Contains("--optimizer dist_muon"));
  EXPECT_THAT(arguments("zero-1"), Not(Contains("--use-distributed-optimizer")));
  const auto beyond = [](std::vector<std::string> changes) {
    changes.emplace_back("strategy.optimizer=muon");
    return beyond_megatron_arguments(test::shipped("llama3-70b-h100-512.json", changes));
  };
  EXPECT_THAT(beyond({}), Not(Contains(HasSubstr("optimizer muon"))));
  EXPECT_THAT(beyond({"workload.precision=fp16"}), Contains("optimizer muon in fp16"));
  EXPECT_THAT(beyond({"strategy.hsdp_shard_size=2"}), Contains("optimizer muon beside hsdp_shard_size"));
}

}  // namespace
}  // namespace stepcast::muon_test
