#include "models/memory/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "models/memory/moment.hpp"
#include "models/parallelism/parameter_update.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::memory_test {
namespace {

using test::catalog;

/// A job made by hand: `pp` stages of equal blocks, an embedding before and an output after, 16-bit Adam.
struct SmallJob {
  std::shared_ptr<FrameworkProfile> profile = std::make_shared<FrameworkProfile>();
  Scenario scenario;
  Node node;
  Job job;

  static constexpr double kBlock = 1e9;      // parameters of a block
  static constexpr double kEmbedding = 2e9;  // of the embedding
  static constexpr double kOutput = 3e9;

  explicit SmallJob(int pp, int layers_per_stage, int dp = 1) {
    auto model = std::make_shared<Model>();
    model->transformer.emplace();
    model->transformer->vocab = 1000;
    scenario.model = model;
    scenario.framework = profile;
    scenario.node = &node;
    scenario.degrees.pp = pp;
    scenario.degrees.dp = dp;
    scenario.degrees.micro_batches = 8;
    scenario.seq_len = 1000;
    scenario.precision = Precision::bf16;
    scenario.schedule = PipelineSchedule::one_f_one_b;
    job.scenario = &scenario;
    job.device.memory = 80_GB;
    job.groups.data = {dp, 1, 1};
    job.groups.pipeline = {pp, 1, 1};
    job.groups.shard = {1, 1, 1};
    job.groups.expert_data = {1, 1, 1};
    job.layer_kinds.resize(3);
    set(0, LayerRole::dense_block, kBlock, 10_GB, 6_GB, 1_GB, 1_GB);
    set(1, LayerRole::embedding, kEmbedding, 0.5_GB, 0.5_GB, 0_B, 1_GB);
    set(2, LayerRole::output, kOutput, 4_GB, 4_GB, 1_GB, 0_B);
    job.stage_parameters.assign(static_cast<std::size_t>(pp), layers_per_stage * kBlock);
    job.stage_parameters.front() += kEmbedding;
    job.stage_parameters.back() += kOutput;
    job.stage_expert_parameters.assign(static_cast<std::size_t>(pp), 0);
    job.stage_frozen_parameters = job.stage_frozen_expert_parameters = job.stage_expert_parameters;
    for (int s = 0; s < pp; ++s) {
      Chunk chunk;
      chunk.stage = s;
      chunk.has_embedding = s == 0;
      chunk.has_output = s == pp - 1;
      if (s == 0) chunk.layer_kinds.push_back(1);
      for (int i = 0; i < layers_per_stage; ++i) chunk.layer_kinds.push_back(0);
      if (chunk.has_output) chunk.layer_kinds.push_back(2);
      job.chunks.push_back(chunk);
    }
  }

  FrameworkProfile& framework() { return *profile; }
  StrategySpec& strategy() { return scenario.spec.strategy; }
  void shard(Sharding sharding, int ranks) {
    scenario.sharding = sharding;
    job.groups.shard = {ranks, 1, 1};
    job.groups.expert_data = {ranks, 1, 1};
  }
  MemoryFootprint stage(int s) const { return memory_of(job).stages.at(static_cast<std::size_t>(s)); }

 private:
  void set(std::size_t kind, LayerRole role, double parameters, Bytes all, Bytes selective, Bytes input, Bytes output) {
    LayerCost& layer = job.layer_kinds[kind];
    layer.role = role;
    layer.parameters = parameters;
    layer.activations = all;
    layer.activations_selective = selective;
    layer.activation_input = input;
    layer.output = output;
  }
};

TEST(States, WhatExchangesKeepIsHeld) {
  SmallJob small(1, 1, 2);
  const double parameters = small.job.stage_parameters.front();
  const Bytes plain = memory_of(small.job).stages.front().optimizer;
  StrategySpec& strategy = small.scenario.spec.strategy;
  strategy.compression.method = CompressionMethod::fp16;
  EXPECT_EQ(memory_of(small.job).stages.front().optimizer, plain);
  strategy.compression.method = CompressionMethod::top_k;
  EXPECT_NEAR((memory_of(small.job).stages.front().optimizer - plain).value(), 4 * parameters, 1);
  strategy.compression.method = CompressionMethod::none;
  small.scenario.update = UpdateMode::local;
  EXPECT_NEAR((memory_of(small.job).stages.front().optimizer - plain).value(), 8 * parameters, 1);
}

TEST(States, MixedPrecisionAdamTakesSixteenBytesAParameter) {
  SmallJob small(1, 2);
  // 2·1e9 + 2e9 + 3e9 = 7e9 parameters: 2 bytes each, gradients 2, master and two moments 12.
  const MemoryFootprint m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.parameters.in(1_GB), 14);
  EXPECT_DOUBLE_EQ(m.gradients.in(1_GB), 14);
  EXPECT_DOUBLE_EQ(m.optimizer.in(1_GB), 84);
}

TEST(States, GradientsAccumulateInFp32WhereTheFrameworkDoes) {
  SmallJob small(1, 2);
  small.framework().main_gradients_fp32 = true;
  EXPECT_DOUBLE_EQ(small.stage(0).gradients.in(1_GB), 28);
}

TEST(States, SixteenBitGradientsStayBesideTheFp32Ones) {
  SmallJob small(1, 2);
  small.framework().model_gradients_kept = true;
  EXPECT_DOUBLE_EQ(small.stage(0).gradients.in(1_GB), 7 * (2 + 4));
}

TEST(States, Fp32NeedsNoMasterCopy) {
  SmallJob small(1, 2);
  small.scenario.precision = Precision::tf32;
  const StateBytes bytes = state_bytes(small.scenario);
  EXPECT_EQ(bytes.parameter, 4);
  EXPECT_EQ(bytes.gradient, 4);
  EXPECT_EQ(bytes.optimizer, 8);
}

TEST(States, ConvolutionalNetworksKeepMomentumAlone) {
  SmallJob small(1, 2);
  small.scenario.model = std::make_shared<Model>();
  small.scenario.precision = Precision::fp32;
  EXPECT_EQ(state_bytes(small.scenario).optimizer, 4);
  small.scenario.precision = Precision::fp16;
  EXPECT_EQ(state_bytes(small.scenario).optimizer, 8);
}

// Rajbhandari et al. 2020, figure 1: Ψ = 7.5e9 over 64 ranks with K = 12: 120 GB, 31.4 (optimizer sharded), 16.6
// (gradients too), 1.9 (parameters too).
TEST(States, ShardAsZeroDoes) {
  const auto states = [](Sharding sharding) {
    SmallJob small(1, 1, 64);
    small.job.stage_parameters = {7.5e9};
    small.shard(sharding, sharding == Sharding::none ? 1 : 64);
    const MemoryFootprint m = small.stage(0);
    return (m.parameters + m.gradients + m.optimizer).in(1_GB);
  };
  EXPECT_NEAR(states(Sharding::none), 120, 0.05);
  EXPECT_NEAR(states(Sharding::zero1), 31.4, 0.05);
  EXPECT_NEAR(states(Sharding::zero2), 16.6, 0.05);
  EXPECT_NEAR(states(Sharding::zero3), 1.9, 0.05);
}

TEST(States, FsdpShardsFp32CopiesOfTheSameSixteenBytes) {
  SmallJob small(1, 2, 7);
  small.shard(Sharding::fsdp, 7);
  const MemoryFootprint m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.parameters.in(1_GB), 4);
  EXPECT_DOUBLE_EQ(m.gradients.in(1_GB), 4);
  EXPECT_DOUBLE_EQ(m.optimizer.in(1_GB), 8);
}

TEST(Buffers, FsdpHoldsTwoGatheredUnitsAndOneUnitsGradients) {
  SmallJob small(1, 2, 7);
  small.shard(Sharding::fsdp, 7);
  small.framework().gradients_in_fp32 = true;
  // The largest unit is the output layer, 3e9 parameters: 2·2 bytes gathered and 4 of gradient.
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_GB), 3 * (2 * 2 + 4));
}

// FSDP's SHARD_GRAD_OP: parameters are gathered whole in 16 bit, their fp32 shards, moments and gradients are shared
// out. Gradients are reduced unit by unit.
TEST(Buffers, WrappedLayersHoldOneUnitsGradientsBesideGatheredParameters) {
  SmallJob small(1, 2, 7);
  small.shard(Sharding::zero2, 7);
  small.framework().shardings = {"fsdp", "zero-2"};
  small.framework().gradients_in_fp32 = true;
  const MemoryFootprint m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.parameters.in(1_GB), 14);
  EXPECT_DOUBLE_EQ(m.gradients.in(1_GB), 4);
  EXPECT_DOUBLE_EQ(m.optimizer.in(1_GB), 12);
  // The output layer's gradient in 16 bit, and in fp32 as it is reduced.
  EXPECT_DOUBLE_EQ(m.buffers.in(1_GB), 3 * (2 + 4));
  // Other frameworks that name no size of a bucket send all gradients as one.
  small.framework().shardings = {"zero-2"};
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_GB), 14);
}

// PyTorch's pipelines add up what they reduce once a step, and leave gathered parameters whole after backward passes.
TEST(Buffers, PipelinesThatReduceOnceHoldAStageWhole) {
  SmallJob small(2, 2, 7);
  small.shard(Sharding::fsdp, 7);
  small.framework().shardings = {"fsdp", "zero-2"};
  small.framework().gradients_in_fp32 = true;
  small.framework().pipelines_accumulate = true;
  // 4e9 parameters of the first stage: 16-bit copies and fp32 sums. The embedding's gradients are on their way.
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_GB), 4 * (2 + 4) + 2 * (2 + 4));
  small.scenario.sharding = Sharding::zero2;
  EXPECT_DOUBLE_EQ(small.stage(0).parameters.in(1_GB), 4 * 2);
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_GB), 4 * 4 + 2 * (2 + 4));
  small.scenario.degrees.micro_batches = 1;
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_GB), 2 * (2 + 4));
}

TEST(Buffers, BucketsAreCopiesUnlessGradientsAreContiguous) {
  SmallJob small(1, 2, 2);
  small.framework().bucket = 25_MiB;
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_MiB), 50);
  small.framework().main_gradients_fp32 = true;
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.value(), 0);
}

TEST(Buffers, PersistentBucketsHoldEveryGradientAgain) {
  SmallJob small(1, 2, 2);
  small.framework().bucket = 25_MiB;
  small.framework().persistent_buckets = true;
  EXPECT_EQ(small.stage(0).buffers, small.stage(0).gradients);
}

TEST(Buffers, FusedAccumulationKeepsOnePlaceOfEveryShape) {
  SmallJob small(1, 2);
  small.framework().fused_gradient_accumulation = true;
  // Two equal blocks: each shape counts once, in 16 bit. The output layer's place is temporary.
  small.job.layer_kinds[0].weight_shapes = {{1e4, 2e4}, {2e4, 1e4}};
  small.job.layer_kinds[2].weight_shapes = {{1e4, 1e5}};
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_GB), 2 * 0.2 * 2);
}

TEST(Buffers, StagesReceiveActivations) {
  SmallJob small(2, 2);
  for (Chunk& chunk : small.job.chunks) chunk.send = 1_GB;
  EXPECT_DOUBLE_EQ(small.stage(1).buffers.in(1_GB), 1);
}

/// What a stage has in use at its fullest moment above the activations that wait when a backward pass begins.
Bytes working_set(const SmallJob& small) {
  const StageLayers layers = stage_layers(small.job, 0);
  return fullest_moment(small.job, synchronization_plan(*small.job.scenario), layers, Bytes(0)).total() - layers.kept;
}

// DeepSpeed's ZeRO-3 copies the gradients of what it updates at once to fp32: where activations are small, that is when
// most is held.
TEST(WorkingSet, UpdatesOfSubGroupsHaveGradientsOfTheirOwn) {
  SmallJob small(1, 2);
  small.scenario.sharding = Sharding::zero3;
  const MemoryFootprint without = small.stage(0);
  small.framework().update_group_parameters = 1e15;  // all that the device owns
  const Bytes all(4 * owned_parameters(small.job, 0).all);
  const MemoryFootprint with = small.stage(0);
  EXPECT_EQ(with.activations, Bytes(0));
  EXPECT_GT(with.workspace, all);
  EXPECT_GT(with.total(), without.total());
}

// 1,000 tokens and 1,000 entries of the vocabulary: a million logits.
TEST(WorkingSet, LossHoldsCopiesOfTheLogits) {
  SmallJob small(1, 2);
  small.framework().loss_bytes_per_logit = 12;
  EXPECT_DOUBLE_EQ(loss_bytes_per_logit(small.scenario), 12);
  small.strategy().fused_loss = true;
  EXPECT_DOUBLE_EQ(loss_bytes_per_logit(small.scenario), 0);  // fused with the output layer
  small.framework().fused_gradient_accumulation = true;       // Transformer Engine's works on all logits
  EXPECT_DOUBLE_EQ(loss_bytes_per_logit(small.scenario), 2);
  small.framework().fused_gradient_accumulation = false;
  small.strategy().fused_loss = false;
  small.framework().loss_bytes_per_logit = 30e3;  // larger than a block's 2 GB of gradients
  EXPECT_DOUBLE_EQ(working_set(small).in(1_GB), 30);
}

TEST(WorkingSet, IsTheLargestOfBlockOutputAndEmbedding) {
  SmallJob small(1, 2);
  const auto working = [&] { return working_set(small).in(1_GB); };
  EXPECT_DOUBLE_EQ(working(), 2);  // gradients of a block's output and input
  small.job.layer_kinds[0].gradients_at_once = 3_GB;
  EXPECT_DOUBLE_EQ(working(), 3);
  // The output layer: its gradients and a place for that of its 16-bit weights.
  small.job.layer_kinds[2].gradients_at_once = 2_GB;
  small.job.layer_kinds[2].weight_shapes = {{1e4, 1e5}};
  EXPECT_DOUBLE_EQ(working(), 2 + 2);
  // A gradient that is added in a pass of its own is computed beside the others.
  small.job.layer_kinds[0].weight_shapes = {{2e4, 1e5}};
  EXPECT_DOUBLE_EQ(working(), 3 + 4);
}

TEST(WorkingSet, EmbeddingsGradientComesWhenTheActivationsAreGone) {
  SmallJob small(1, 2);
  small.strategy().recompute = Recompute::full;
  small.job.layer_kinds[0].activations = 1_GB;  // nothing to recompute
  // 2e9 parameters in 16 bit, but the micro-batch's 2·1 + 0.5 + 4 GB are free.
  small.job.layer_kinds[1].parameters = 10e9;
  EXPECT_DOUBLE_EQ(working_set(small).in(1_GB), 20 - 6.5);
}

/// One micro-batch a step, whose gradients are freed after it.
SmallJob freeing_gradients(int layers) {
  SmallJob small(1, layers);
  small.scenario.degrees.micro_batches = 1;
  small.framework().frees_gradients = true;
  return small;
}

// Two blocks of 10 GB of activations and 2 of gradients of activations; 7e9 parameters with 2-byte gradients.
TEST(Moments, GradientsAppearAsActivationsGo) {
  SmallJob small = freeing_gradients(2);
  MemoryFootprint m = small.stage(0);
  EXPECT_EQ(m.gradients.value(), 0);
  EXPECT_DOUBLE_EQ(m.activations.in(1_GB), 20 + 4.5);
  // The second micro-batch finds the first one's.
  small.scenario.degrees.micro_batches = 2;
  m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.gradients.in(1_GB), 14);
  EXPECT_DOUBLE_EQ(m.activations.in(1_GB), 20 + 4.5);
}

TEST(Moments, FewActivationsPeakWhenEveryGradientIsThere) {
  SmallJob small = freeing_gradients(2);
  for (LayerCost& layer : small.job.layer_kinds) layer.activations = layer.activation_input = 1_MB;
  const MemoryFootprint m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.gradients.in(1_GB), 14);
  EXPECT_EQ(m.activations.value(), 0);
}

// One table of 2e9 parameters: its gradient as the output layer's is there when the embedding's comes.
TEST(Moments, ATiedTablesGradientIsThereTwice) {
  SmallJob small = freeing_gradients(2);
  for (LayerCost& layer : small.job.layer_kinds) layer.activations = layer.activation_input = 1_MB;
  const Bytes apart = small.stage(0).workspace;
  auto model = std::make_shared<Model>(*small.scenario.model);
  model->transformer->tied_embeddings = true;
  small.scenario.model = model;
  EXPECT_DOUBLE_EQ((small.stage(0).workspace - apart).in(1_GB), 2 * 2 - 2);  // the block's 2 GB before
}

TEST(MixedPrecision, KeepsWeightsInFp32AndTheirCopies) {
  SmallJob small = freeing_gradients(2);
  small.framework().automatic_mixed_precision = true;
  small.job.layer_kinds[2].weight_shapes = {{3e4, 1e5}};  // the output layer's 3e9
  const MemoryFootprint m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.parameters.in(1_GB), 7 * 4);
  EXPECT_DOUBLE_EQ(m.optimizer.in(1_GB), 7 * 8);
  // Fullest when the last block's backward pass begins: the output layer's copy is gone, its gradient there.
  EXPECT_DOUBLE_EQ(m.gradients.in(1_GB), 3 * 4);
  EXPECT_DOUBLE_EQ(m.buffers.in(1_GB), 2 * 2);
  small.job.layer_kinds[0].frozen_parameters = 5e9;  // held in 16 bit
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_GB), 2 * 2);
  small.strategy().torch_compile = true;
  EXPECT_EQ(small.stage(0).buffers.value(), 0);
  small.strategy().torch_compile = false;
  small.scenario.precision = Precision::fp32;
  EXPECT_EQ(small.stage(0).buffers.value(), 0);
}

TEST(Activations, CountTheMicroBatchesInFlight) {
  const SmallJob small(4, 2);
  // 1F1B: stage s holds 4 − s micro-batches. Two blocks of 10 GB; the embedding 0.5, the output 4.
  EXPECT_DOUBLE_EQ(small.stage(0).activations.in(1_GB), 4 * 20.5);
  EXPECT_DOUBLE_EQ(small.stage(1).activations.in(1_GB), 3 * 20);
  EXPECT_DOUBLE_EQ(small.stage(3).activations.in(1_GB), 24);
}

// Two blocks wait on the host but for the two at hand; embedding and output stay.
TEST(Offload, ActivationsWaitOnTheHost) {
  SmallJob small(1, 4);
  small.strategy().offload_activations = true;
  const MemoryFootprint m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.activations.in(1_GB), 0.5 + 4);
  EXPECT_DOUBLE_EQ(m.buffers.in(1_GB), 2 * 10);
  EXPECT_DOUBLE_EQ(m.host.in(1_GB), 4 * 10);
}

TEST(Offload, OptimizerStatesAndShardedGradientsLieOnTheHost) {
  SmallJob small(1, 2, 7);
  small.strategy().offload_optimizer = true;
  MemoryFootprint m = small.stage(0);
  EXPECT_EQ(m.optimizer.value(), 0);
  EXPECT_DOUBLE_EQ(m.gradients.in(1_GB), 14);
  // States of 12 bytes a parameter, and the fp32 gradients that processors update from.
  EXPECT_DOUBLE_EQ(m.host.in(1_GB), 7 * (12 + 4));
  small.shard(Sharding::zero2, 7);
  m = small.stage(0);
  EXPECT_EQ(m.gradients.value(), 0);
  EXPECT_DOUBLE_EQ(m.host.in(1_GB), 12 + 4 + 2) << "16-bit gradients arrive beside them";
  small.shard(Sharding::zero3, 7);
  EXPECT_DOUBLE_EQ(small.stage(0).host.in(1_GB), 12 + 4 + 2);
  small.framework().main_gradients_fp32 = true;
  EXPECT_DOUBLE_EQ(small.stage(0).host.in(1_GB), 12 + 4) << "those that arrive are fp32";
  small.strategy().parameters_in_16_bit = true;
  EXPECT_DOUBLE_EQ(small.stage(0).host.in(1_GB), 4 + 2);
}

// Through buffers of four tensors of at most 1e9 fp32 numbers (DeepSpeed's sub_group_size); gradients arrive in 16 bit.
TEST(Offload, StatesOnDrivesPassThroughBuffers) {
  SmallJob small(1, 2, 7);
  small.strategy().offload_optimizer = true;
  small.strategy().offload_optimizer_device = OffloadDevice::nvme;
  small.shard(Sharding::zero3, 1);
  EXPECT_DOUBLE_EQ(small.stage(0).host.in(1_GB), 16 + 7 * 2);
  small.shard(Sharding::zero3, 14);
  EXPECT_DOUBLE_EQ(small.stage(0).host.in(1_GB), 0.5 * (16 + 2));
  EXPECT_EQ(small.stage(0).optimizer.value(), 0);
}

TEST(Offload, FitsOnlyWithTheHostsMemory) {
  SmallJob small(1, 2);
  small.job.device.memory = 1_TB;
  small.strategy().offload_optimizer = true;
  small.node.accelerator_count = 2;
  small.node.memory = 220_GB;  // 2 x 7 x 16
  EXPECT_FALSE(memory_of(small.job).fits);
  small.node.memory = 230_GB;
  EXPECT_TRUE(memory_of(small.job).fits);
}

TEST(Activations, GpipeHoldsAllMicroBatches) {
  SmallJob small(4, 2);
  small.scenario.schedule = PipelineSchedule::gpipe;
  EXPECT_DOUBLE_EQ(small.stage(1).activations.in(1_GB), 8 * 20);
}

TEST(Activations, FullRecomputationKeepsInputsAndOneLayersInside) {
  SmallJob small(1, 2);
  small.strategy().recompute = Recompute::full;
  const MemoryFootprint m = small.stage(0);
  EXPECT_DOUBLE_EQ(m.activations.in(1_GB), 2 * 1 + 0.5 + 4);
  // Workspace: 9 GB of the layer in recomputation, the gradients of its output and input, one cuBLAS workspace.
  EXPECT_DOUBLE_EQ((m.workspace - 32_MiB).in(1_GB), 11);
  EXPECT_DOUBLE_EQ(m.slack.value(), 0.05 * (m.activations + m.buffers + m.workspace).value());
}

TEST(Activations, SelectiveRecomputationDropsTheAttentionCore) {
  SmallJob small(1, 2);
  small.strategy().recompute = Recompute::selective;
  EXPECT_DOUBLE_EQ(small.stage(0).activations.in(1_GB), 2 * 6 + 0.5 + 4);
}

TEST(Activations, PerOperatorRecomputationKeepsWhatTheLayerSays) {
  SmallJob small(1, 2);
  small.strategy().recompute = Recompute::per_operator;
  small.job.layer_kinds[0].activations_per_operator = 3_GB;
  EXPECT_DOUBLE_EQ(small.stage(0).activations.in(1_GB), 2 * 3 + 0.5 + 4);
}

TEST(Report, NamesTheWorstStageAndWhetherItFits) {
  SmallJob small(4, 2);
  const MemoryReport report = memory_of(small.job);
  EXPECT_EQ(report.stages.size(), 4U);
  EXPECT_EQ(report.worst_stage, 0);
  EXPECT_FALSE(report.fits);
  small.job.device.memory = 1_TB;
  EXPECT_TRUE(memory_of(small.job).fits);
}

TEST(Report, WhatTheAllocatorGivesIsAllButLibrariesAndSlack) {
  const MemoryFootprint m = SmallJob(2, 2).stage(0);
  EXPECT_GT(m.libraries.value(), 0);
  EXPECT_GT(m.slack.value(), 0);
  EXPECT_DOUBLE_EQ(m.total().value(), (m.allocated() + m.libraries + m.slack).value());
}

TEST(Report, ProcessorsLoseNothingToDeviceLibraries) {
  SmallJob small(1, 1);
  EXPECT_GT(library_memory(small.job).value(), 0);
  small.job.device.is_cpu = true;
  EXPECT_EQ(library_memory(small.job).value(), 0);
}

// From here on with the shipped catalogue, presets and profiles.

Json document(const char* text) { return Json::parse(text); }

MemoryReport report_of(const Json& document, const std::vector<std::string>& overrides = {}) {
  const Scenario scenario = resolve(document, "test", overrides, catalog());
  return memory_of(lower(scenario));
}

// The last of four stages keeps what it would keep without recomputation, the others what they keep with it.
TEST(Stages, TheLastOneMayKeepItsActivations) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 2},
    "workload": {"model": "gpt3-6.7b", "global_batch": 16, "seq_len": 2048, "precision": "fp16"},
    "strategy": {"framework": "megatron-lm-2021", "tensor_parallel": 4, "pipeline_parallel": 4, "micro_batch": 1}})");
  const auto kept = [&](const std::vector<std::string>& overrides, std::size_t stage) {
    return report_of(scenario, overrides).stages.at(stage).activations;
  };
  const std::vector<std::string> whole{"strategy.recompute=none"}, repeated{"strategy.recompute=full"},
      last_kept{"strategy.recompute=full", "strategy.recompute_last_stage=false"};
  EXPECT_DOUBLE_EQ(kept(last_kept, 3).value(), kept(whole, 3).value());
  EXPECT_DOUBLE_EQ(kept(last_kept, 0).value(), kept(repeated, 0).value());
  EXPECT_LT(kept(repeated, 3).value(), kept(whole, 3).value());
}

// Each of four stages has eight layers: what two of them keep is an eighth of what all would, the others' three
// quarters of what none would, but for what is recomputed at once.
TEST(Stages, SomeLayersMayKeepTheirActivations) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 2},
    "workload": {"model": "gpt3-6.7b", "global_batch": 16, "seq_len": 2048, "precision": "fp16"},
    "strategy": {"framework": "megatron-lm-2021", "tensor_parallel": 4, "pipeline_parallel": 4, "micro_batch": 1}})");
  const auto kept = [&](const std::vector<std::string>& overrides) {
    return report_of(scenario, overrides).stages.at(1).activations.value();
  };
  const double none = kept({"strategy.recompute=none"}), all = kept({"strategy.recompute=full"});
  EXPECT_NEAR(kept({"strategy.recompute=full", "strategy.recompute_layers=2"}), 0.25 * all + 0.75 * none, 1e-6 * none);
  EXPECT_EQ(kept({"strategy.recompute=full", "strategy.recompute_layers=8"}), all);
}

// Korthikanti et al. 2022, figure 7: activations of the 22B model with eight-way tensor parallelism, in per cent of
// those without sequence parallelism and recomputation.
TEST(Published, ActivationsOfThe22BModel) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 1},
    "workload": {"model": "gpt3-22b", "global_batch": 4, "seq_len": 2048, "precision": "fp16"},
    "strategy": {"framework": "megatron-lm-2021", "tensor_parallel": 8, "micro_batch": 4}})");
  const auto activations = [&](const std::vector<std::string>& overrides) {
    return report_of(scenario, overrides).stages.front().activations;
  };
  const Bytes all = activations({});
  const std::string sequence = "strategy.sequence_parallel=true";
  const std::string selective = "strategy.recompute=selective";
  EXPECT_NEAR(100 * (activations({sequence}) / all), 66.84, 1);
  EXPECT_NEAR(100 * (activations({selective}) / all), 49.42, 1);
  EXPECT_NEAR(100 * (activations({sequence, selective}) / all), 16.18, 1);
}

// Peak allocated memory of Megatron on eight B200 (SimuMax, docs/b200, release 1.2): Llama 3 70B cut to 12 layers, 405B
// (with its 16 key heads of SimuMax's configuration) to four, ZeRO-1, no recomputation, fused cross-entropy.
TEST(Measured, PeakOfLlamaOnOneB200Node) {
  struct Row {
    bool large;
    std::vector<std::string> settings;
    double measured_GiB;
  };
  const std::vector<std::string> big{"workload.model.transformer.layers=4", "workload.model.transformer.hidden=16384",
                                     "workload.model.transformer.ffn_hidden=53248",
                                     "workload.model.transformer.heads=128", "workload.model.transformer.kv_heads=16"};
  const std::string sp = "strategy.sequence_parallel=true";
  const std::string tp2 = "strategy.tensor_parallel=2", tp4 = "strategy.tensor_parallel=4",
                    tp8 = "strategy.tensor_parallel=8", pp2 = "strategy.pipeline_parallel=2",
                    cp4 = "strategy.context_parallel=4", cp8 = "strategy.context_parallel=8";
  const std::string s32 = "workload.seq_len=32768", s128 = "workload.seq_len=131072";
  const std::array rows{
      Row{false, {pp2}, 66.55},
      Row{false, {tp4, sp}, 39.07},
      Row{false, {tp8, sp}, 28.29},
      Row{true, {pp2}, 87.08},
      Row{true, {tp4, sp}, 52.89},
      Row{true, {tp8, sp}, 38.57},
      Row{false, {tp2, sp, cp4, s32}, 68.43},
      Row{false, {cp8, s32}, 104.51},
      Row{true, {tp2, sp, cp4, s32}, 87.03},
      Row{false, {tp2, sp, cp4, s128}, 112.67},
      Row{false, {cp8, s128}, 147.99},
      Row{true, {tp2, sp, cp4, s128}, 118.13},
  };
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-b200", "nodes": 1},
    "workload": {"model": {"id": "llama3", "family": "decoder", "default_seq_len": 4096, "transformer": {"layers": 12,
      "hidden": 8192, "ffn_hidden": 28672, "heads": 64, "kv_heads": 8, "vocab": 128256, "gated_mlp": true}},
      "global_batch": 32, "seq_len": 4096, "precision": "bf16"},
    "strategy": {"framework": "megatron-lm", "micro_batch": 1, "sharding": "zero-1", "fused_loss": true}})");
  double sum = 0;
  for (const Row& row : rows) {
    std::vector<std::string> settings = row.settings;
    if (row.large) settings.insert(settings.end(), big.begin(), big.end());
    const MemoryReport report = report_of(scenario, settings);
    const double peak = report.stages.at(static_cast<std::size_t>(report.worst_stage)).allocated().in(1_GiB);
    EXPECT_NEAR(peak, row.measured_GiB, 0.01 * row.measured_GiB) << row.settings.front();
    sum += std::abs(peak / row.measured_GiB - 1);
  }
  EXPECT_LT(sum / rows.size(), 0.005);
}

// 145.6e9 parameters' states on two nodes of eight V100 with 672 GB: the devices hold their part, the hosts do not.
TEST(Offload, BeyondTheHostsMemoryIsNamedAsSuch) {
  const MemoryReport report = report_of(document(R"({"format_version": 1,
    "cluster": {"node": "azure-nd40rs-v2", "nodes": 2},
    "workload": {"model": "gpt-145.6b", "global_batch": 4, "precision": "fp16"},
    "strategy": {"framework": "megatron-bridge-26.06", "tensor_parallel": 16, "sequence_parallel": false,
                 "micro_batch": 1, "recompute": "per-operator", "sharding": "zero-2", "offload_optimizer": true,
                 "overlap_gradients": true}})"));
  EXPECT_FALSE(report.fits);
  EXPECT_EQ(report.over_device(), Bytes(0));
  EXPECT_EQ(report.over_host(), report.host() - report.host_capacity);
  EXPECT_GT(report.over_host(), 50_GiB);
}

}  // namespace
}  // namespace stepcast::memory_test
