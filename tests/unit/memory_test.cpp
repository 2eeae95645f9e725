#include "models/memory/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "models/memory/advice.hpp"

namespace stepcast {
namespace {

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
    for (int s = 0; s < pp; ++s) {
      Chunk chunk;
      chunk.stage = s;
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

TEST(Buffers, BucketsAreCopiesUnlessGradientsAreContiguous) {
  SmallJob small(1, 2, 2);
  small.framework().bucket = 25_MiB;
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.in(1_MiB), 50);
  small.framework().main_gradients_fp32 = true;
  EXPECT_DOUBLE_EQ(small.stage(0).buffers.value(), 0);
}

TEST(Activations, CountTheMicroBatchesInFlight) {
  const SmallJob small(4, 2);
  // 1F1B: stage s holds 4 − s micro-batches. Two blocks of 10 GB; the embedding 0.5, the output 4.
  EXPECT_DOUBLE_EQ(small.stage(0).activations.in(1_GB), 4 * 20.5);
  EXPECT_DOUBLE_EQ(small.stage(1).activations.in(1_GB), 3 * 20);
  EXPECT_DOUBLE_EQ(small.stage(3).activations.in(1_GB), 24);
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
  // Workspace: 9 GB of the layer in recomputation, the gradients of its output and input, allocator slack of 5 %.
  const Bytes slack = 0.05 * (m.activations + m.buffers + 11_GB);
  EXPECT_NEAR((m.workspace - library_memory(small.job)).in(1_GB), 11 + slack.in(1_GB), 1e-9);
}

TEST(Activations, SelectiveRecomputationDropsTheAttentionCore) {
  SmallJob small(1, 2);
  small.strategy().recompute = Recompute::selective;
  EXPECT_DOUBLE_EQ(small.stage(0).activations.in(1_GB), 2 * 6 + 0.5 + 4);
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

TEST(Report, ProcessorsLoseNothingToDeviceLibraries) {
  SmallJob small(1, 1);
  EXPECT_GT(library_memory(small.job).value(), 0);
  small.job.device.is_cpu = true;
  EXPECT_EQ(library_memory(small.job).value(), 0);
}

// From here on with the shipped catalogue, presets and profiles.

const Catalog& shipped() {
  static const Catalog catalog = Catalog::standard({});
  return catalog;
}

Json document(const char* text) { return Json::parse(text); }

MemoryReport report_of(const Json& scenario, const std::vector<std::string>& overrides = {}) {
  return memory_of(lower(resolve(scenario, "test", overrides, shipped())));
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
// to four, ZeRO-1, no recomputation. What libraries take outside the allocator is not in it.
TEST(Measured, PeakOfLlamaOnOneB200Node) {
  struct Row {
    std::vector<std::string> settings;
    double measured_GiB;
  };
  const std::string four_layers = "workload.model.transformer.layers=4";
  const std::vector<std::string> big{four_layers, "workload.model.transformer.hidden=16384",
                                     "workload.model.transformer.ffn_hidden=53248",
                                     "workload.model.transformer.heads=128"};
  const auto with = [](std::vector<std::string> all, std::initializer_list<std::string> more) {
    all.insert(all.end(), more);
    return all;
  };
  const std::string sp = "strategy.sequence_parallel=true";
  const std::array rows{
      Row{{"strategy.pipeline_parallel=2"}, 66.55},
      Row{{"strategy.tensor_parallel=4", sp}, 39.07},
      Row{{"strategy.tensor_parallel=8", sp}, 28.29},
      Row{with(big, {"strategy.pipeline_parallel=2"}), 87.08},
      Row{with(big, {"strategy.tensor_parallel=8", sp}), 38.57},
      Row{{"strategy.context_parallel=8", "workload.seq_len=32768"}, 104.51},
  };
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-b200", "nodes": 1},
    "workload": {"model": {"id": "llama3", "family": "decoder", "default_seq_len": 4096, "transformer": {"layers": 12,
      "hidden": 8192, "ffn_hidden": 28672, "heads": 64, "kv_heads": 8, "vocab": 128256, "gated_mlp": true}},
      "global_batch": 32, "seq_len": 4096, "precision": "bf16"},
    "strategy": {"framework": "megatron-lm", "micro_batch": 1, "sharding": "zero-1"}})");
  for (const Row& row : rows) {
    const Scenario resolved = resolve(scenario, "test", row.settings, shipped());
    const Job job = lower(resolved);
    const MemoryReport report = memory_of(job);
    const Bytes peak = report.stages.at(static_cast<std::size_t>(report.worst_stage)).total() - library_memory(job);
    EXPECT_NEAR(peak.in(1_GiB), row.measured_GiB, 0.1 * row.measured_GiB) << row.settings.front();
  }
}

/// `strategy.a = "x", strategy.b = 2: 40 of 80 GiB` as overrides.
std::vector<std::string> overrides_of(std::string advice) {
  std::vector<std::string> overrides;
  advice = advice.substr(0, advice.find(": "));
  for (std::size_t start = 0; start < advice.size();) {
    const std::size_t end = std::min(advice.find(", ", start), advice.size());
    std::string one = advice.substr(start, end - start);
    one.erase(std::remove(one.begin(), one.end(), ' '), one.end());
    overrides.push_back(one);
    start = end + 2;
  }
  return overrides;
}

TEST(Advice, HoldsWhenItIsFollowed) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 8},
    "workload": {"model": "llama3-70b", "global_batch": 256},
    "strategy": {"framework": "megatron-lm", "tensor_parallel": 4, "pipeline_parallel": 2, "micro_batch": 2}})");
  ASSERT_FALSE(report_of(scenario).fits);
  const auto advice = memory_advice(resolve(scenario, "test", {}, shipped()), shipped());
  ASSERT_FALSE(advice.empty());
  for (const std::string& one : advice) EXPECT_TRUE(report_of(scenario, overrides_of(one)).fits) << one;
}

TEST(Advice, SaysNothingWhereNothingHelps) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 1},
    "workload": {"model": "gpt3-175b", "global_batch": 8}, "strategy": {"framework": "pytorch-ddp"}})");
  EXPECT_TRUE(memory_advice(resolve(scenario, "test", {}, shipped()), shipped()).empty());
}

}  // namespace
}  // namespace stepcast
