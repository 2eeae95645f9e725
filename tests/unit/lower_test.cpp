#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "models/estimate.hpp"
#include "models/parallelism/message.hpp"
#include "models/parallelism/retained.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/parallelism/tensors.hpp"
#include "models/parallelism/variability.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::lower_test {
namespace {

using test::shipped;

// E[max] of 2 normal draws is 1/√π = 0.5642, of 8 it is 1.4236, of 1,024 3.2374 (David & Nagaraja, Order Statistics).
TEST(SlowestOf, IsTheExpectedLargestOfNormalDraws) {
  const double sigma = 0.08 / 5.4;
  EXPECT_DOUBLE_EQ(slowest_of(1), 1);
  EXPECT_NEAR((slowest_of(2) - 1) / sigma, 0.5642, 0.03);
  EXPECT_NEAR((slowest_of(8) - 1) / sigma, 1.4236, 0.015);
  EXPECT_NEAR((slowest_of(1024) - 1) / sigma, 3.2374, 0.015);
}

TEST(Lower, ChunksHoldEveryLayerOnce) {
  const Scenario scenario = shipped("gpt3-175b-a100-1024.json");
  const Job job = lower(scenario);
  ASSERT_EQ(job.chunks.size(), 48U);
  int layers = 0;
  for (std::size_t c = 0; c < job.chunks.size(); ++c) {
    EXPECT_EQ(job.chunks[c].stage, static_cast<int>(c % 16));
    layers += job.chunks[c].layers;
  }
  EXPECT_EQ(layers, 96);
  EXPECT_TRUE(job.chunks.front().has_embedding);
  EXPECT_TRUE(job.chunks.back().has_output);
}

// Full recomputation repeats the forward pass: input gradients take the forward time more than without, but for what
// the device waits for its host.
TEST(Lower, FullRecomputationRepeatsTheForwardPass) {
  Scenario with = shipped("gpt3-175b-a100-1024.json");
  Scenario without = shipped("gpt3-175b-a100-1024.json", {"strategy.recompute=none"});
  auto profile = std::make_shared<FrameworkProfile>(*with.framework);
  profile->host_per_layer_forward = profile->host_per_peer = Seconds(0);
  with.framework = without.framework = profile;
  const LayerCost full = lower(with).layer_kinds[0];
  const LayerCost none = lower(without).layer_kinds[0];
  EXPECT_NEAR((full.backward_input.flops - none.backward_input.flops).value(), none.forward.flops.value(), 1);
  EXPECT_NEAR((full.backward_input.total() - none.backward_input.total()).value(), none.forward.total().value(), 1e-9);
}

Seconds time_of(const LayerCost& layer, std::string_view name) {
  Seconds sum;
  for (const Piece& piece : layer.forward.pieces)
    if (piece.name == name) sum += piece.duration;
  return sum;
}

// Four bytes an element instead of two, and each product's input cast: 4 bytes read, 2 written, as much as a norm
// moves.
TEST(Lower, MixedPrecisionThatCastsProductsAloneStreamsTwiceTheBytes) {
  const auto block = [](const char* file, bool wide) {
    Scenario scenario = shipped(file);
    auto profile = std::make_shared<FrameworkProfile>(*scenario.framework);
    profile->streaming_in_fp32 = wide;
    scenario.framework = profile;
    return lower(scenario).layer_kinds[0];
  };
  const LayerCost narrow = block("bert-large-16nodes.json", false), wide = block("bert-large-16nodes.json", true);
  EXPECT_NEAR(time_of(wide, "norm") / time_of(narrow, "norm"), 2, 0.1);
  EXPECT_EQ(time_of(narrow, "cast_input"), Seconds(0));
  EXPECT_GT(time_of(wide, "cast_input"), Seconds(0));
  // A convolution's neighbours have 16-bit kernels.
  EXPECT_EQ(block("resnet50-v100-8gpus.json", true).forward.total(),
            block("resnet50-v100-8gpus.json", false).forward.total());
}

TEST(Lower, SegmentsAreTheSumOfTheirPieces) {
  const Scenario scenario = shipped("llama3-70b-h100-512.json");
  const Job job = lower(scenario);
  for (const LayerCost& layer : job.layer_kinds)
    for (const Segment* segment : {&layer.forward, &layer.backward_input, &layer.backward_weight}) {
      Seconds sum;
      for (const Piece& piece : segment->pieces) {
        EXPECT_GE(piece.duration, Seconds(0)) << piece.name;
        sum += piece.duration;
      }
      EXPECT_NEAR(sum.value(), segment->total().value(), 1e-12);
    }
}

// A host that needs as long as the device: x ⊔ x = 2^(1/4)·x, 18.9 % more.
TEST(Lower, AHostAsSlowAsTheDeviceStretchesALayer) {
  Scenario scenario = shipped("workstation-single-gpu.json");
  auto profile = std::make_shared<FrameworkProfile>(*scenario.framework);
  profile->host_per_layer_forward = Seconds(0);
  scenario.framework = profile;
  const Seconds device = lower(scenario).layer_kinds[0].forward.total();
  profile = std::make_shared<FrameworkProfile>(*profile);
  profile->host_per_layer_forward = device;
  scenario.framework = profile;
  EXPECT_NEAR(lower(scenario).layer_kinds[0].forward.total() / device, std::pow(2.0, 1.0 / 4), 1e-9);
  profile = std::make_shared<FrameworkProfile>(*profile);
  profile->cuda_graphs = true;
  scenario.framework = profile;
  EXPECT_EQ(lower(scenario).layer_kinds[0].forward.total(), device);
}

// Ranks that meet in collectives wait for the slowest of their hosts: x ⊔ x = √2·x.
TEST(Lower, TensorParallelRanksWaitForTheSlowestHost) {
  Scenario scenario = shipped("gpt3-175b-a100-1024.json");
  ASSERT_GT(scenario.degrees.tp, 1);
  auto profile = std::make_shared<FrameworkProfile>(*scenario.framework);
  profile->host_per_layer_forward = profile->host_per_peer = Seconds(0);
  scenario.framework = profile;
  const auto block = [](const Job& job) {
    for (const LayerCost& layer : job.layer_kinds)
      if (layer.role == LayerRole::dense_block) return layer.forward.total();
    return Seconds(0);
  };
  const Seconds device = block(lower(scenario));
  profile = std::make_shared<FrameworkProfile>(*profile);
  profile->host_per_layer_forward = device;
  scenario.framework = profile;
  EXPECT_NEAR(block(lower(scenario)) / device, std::sqrt(2.0), 1e-9);
}

// Chunks of a gather that run beside a product are issued with the others: a block gathers twice and scatters twice,
// whether that overlaps or not, and at each its hosts drift apart by the time of three peers.
TEST(Lower, ACollectiveInChunksIsIssuedOnce) {
  for (const char* overlap : {"false", "true"}) {
    Scenario scenario =
        shipped("llama3-70b-h100-512.json",
                {"strategy.tensor_parallel=4", std::string("strategy.overlap_tensor_parallel=") + overlap});
    auto profile = std::make_shared<FrameworkProfile>(*scenario.framework);
    ASSERT_LT(profile->tensor_parallel_exposed, 1);
    profile->host_per_layer_forward = Seconds(0);
    profile->host_per_peer = Seconds(1);
    scenario.framework = profile;
    EXPECT_NEAR(lower(scenario).layer_kinds[0].forward.total() / Seconds(1), 4 * 3, 0.01) << overlap;
  }
}

// Weights that are cast, gradients that are unscaled and clipped: so many bytes of each trained parameter in every
// micro-batch, however many there are.
TEST(Lower, ParametersAreReadInEveryMicroBatch) {
  Scenario scenario = shipped("resnet50-v100-8gpus.json", {"strategy.framework=tensorflow-horovod"});
  auto framework = std::make_shared<FrameworkProfile>(*scenario.framework);
  const auto traffic = [&](double bytes_per_parameter) {
    framework->micro_batch_bytes_per_parameter = bytes_per_parameter;
    scenario.framework = framework;
    Bytes sum;
    const Job job = lower(scenario);
    for (const int kind : job.chunks[0].layer_kinds)
      for (const Piece& piece : job.layer_kinds[static_cast<std::size_t>(kind)].backward_weight.pieces)
        sum += piece.bytes;
    return sum.value();
  };
  EXPECT_NEAR((traffic(40) - traffic(0)) / (40.0 * 25'557'032), 1, 1e-9);
}

/// Traffic of a job's blocks in one micro-batch, and what they keep for their backward pass.
struct OfBlocks {
  Bytes traffic, kept;
};
OfBlocks of_blocks(const Scenario& scenario) {
  OfBlocks out;
  const Job job = lower(scenario);
  for (const int kind : job.chunks[0].layer_kinds) {
    const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
    if (!is_block(layer.role)) continue;
    out.kept += retained(layer, scenario.spec.strategy).waiting;
    for (const Segment* segment : {&layer.forward, &layer.backward_input, &layer.backward_weight})
      for (const Piece& piece : segment->pieces) out.traffic += piece.bytes;
  }
  return out;
}

/// A decoder in JAX on 64 H100, its profile changed.
Scenario in_jax(const std::string& recompute, const std::function<void(FrameworkProfile&)>& change) {
  Scenario scenario =
      shipped("llama3-70b-h100-512.json",
              {"strategy={\"framework\": \"jax\", \"micro_batch\": 1, \"sharding\": \"fsdp\", \"recompute\": \"" +
               recompute + "\"}"});
  auto framework = std::make_shared<FrameworkProfile>(*scenario.framework);
  change(*framework);
  scenario.framework = framework;
  return scenario;
}

// Weights and gradients are sharded, so each device casts its share alone.
TEST(Lower, ShardedParametersAreReadByTheirOwners) {
  const auto traffic = [](double bytes_per_parameter, int shards) {
    Scenario scenario =
        in_jax("full", [&](FrameworkProfile& f) { f.micro_batch_bytes_per_parameter = bytes_per_parameter; });
    scenario.shard_size = shards;
    return of_blocks(scenario).traffic.value();
  };
  EXPECT_NEAR((traffic(20, 64) - traffic(0, 64)) / (traffic(20, 1) - traffic(0, 1)), 1.0 / 64, 1e-9);
}

// A compiled loop over layers writes what it keeps into stacked arrays and slices it out of them: n passes over it.
TEST(Lower, CompiledLoopsStackWhatBlocksKeep) {
  for (const char* recompute : {"none", "full"}) {
    const OfBlocks without = of_blocks(in_jax(recompute, [](FrameworkProfile& f) { f.kept_activation_passes = 0; }));
    const OfBlocks with = of_blocks(in_jax(recompute, [](FrameworkProfile& f) { f.kept_activation_passes = 3; }));
    EXPECT_NEAR((with.traffic - without.traffic) / (3.0 * without.kept), 1, 1e-9) << recompute;
  }
}

// A compiler that keeps every operator's operands keeps more, unless it is told to recompute them.
TEST(Lower, CompilersKeepMoreWhereNothingIsRecomputed) {
  const auto kept = [](const char* recompute, double factor) {
    return of_blocks(in_jax(recompute, [&](FrameworkProfile& f) { f.unrecomputed_activations = factor; })).kept;
  };
  EXPECT_NEAR(kept("none", 2) / kept("none", 1), 2, 1e-12);
  EXPECT_EQ(kept("full", 2), kept("full", 1));
}

// Of the six layers of each chunk the first two repeat their forward pass.
TEST(Lower, SoManyLayersOfEachChunkRepeat) {
  const Scenario scenario =
      shipped("gpt3-175b-a100-1024.json", {"strategy.virtual_pipeline=1", "strategy.schedule=1f1b",
                                           "strategy.recompute=full", "strategy.recompute_layers=2"});
  const Job job = lower(scenario);
  for (const Chunk& chunk : job.chunks) {
    std::string letters;
    for (const int kind : chunk.layer_kinds) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
      if (layer.role != LayerRole::dense_block) continue;
      const double backward = (layer.backward_input.flops + layer.backward_weight.flops) / layer.forward.flops;
      letters += std::abs(backward - 3) < 1e-9 ? 'R' : std::abs(backward - 2) < 1e-9 ? 'k' : '?';
    }
    EXPECT_EQ(letters, "RRkkkk");
  }
}

// A last stage that keeps its activations repeats nothing in its backward pass; the others repeat their forward pass.
TEST(Lower, ALastStageThatKeepsItsActivationsRepeatsNothing) {
  const auto flops = [](const char* setting) {
    const Scenario scenario = shipped("gpt3-175b-a100-1024.json", {setting});
    const Job job = lower(scenario);
    std::vector<double> of_block;  // executed in a backward pass over those of a forward pass: first and last block
    for (const std::size_t chunk : {std::size_t{0}, job.chunks.size() - 1})
      for (const int kind : job.chunks[chunk].layer_kinds) {
        const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
        if (layer.role != LayerRole::dense_block) continue;
        of_block.push_back((layer.backward_input.flops + layer.backward_weight.flops) / layer.forward.flops);
        break;
      }
    return of_block;
  };
  const std::vector<double> all = flops("strategy.recompute_last_stage=true");
  EXPECT_NEAR(all.at(0), 3, 1e-9);
  EXPECT_NEAR(all.at(1), 3, 1e-9);
  const std::vector<double> but_the_last = flops("strategy.recompute_last_stage=false");
  EXPECT_NEAR(but_the_last.at(0), 3, 1e-9);
  EXPECT_NEAR(but_the_last.at(1), 2, 1e-9);
}

// ResNet-50 has 53 batch norms over 26,560 channels; each sums two figures a channel in both passes. Horovod's cycle of
// a millisecond makes each wait for half of one.
TEST(Lower, SynchronizedBatchNormsMeetInEveryLayer) {
  struct Sums {
    int calls = 0;
    double bytes = 0;
    Seconds time;
  };
  const auto meetings = [](const std::vector<std::string>& changes, Segment LayerCost::*pass) {
    Sums sums;
    const Scenario scenario = shipped("resnet50-v100-8gpus.json", changes);
    const Job job = lower(scenario);
    for (const int kind : job.chunks[0].layer_kinds)
      for (const Piece& piece : (job.layer_kinds[static_cast<std::size_t>(kind)].*pass).pieces) {
        if (!piece.communication) continue;
        EXPECT_EQ(piece.dimension, Dimension::data);
        ++sums.calls;
        sums.bytes += piece.cost.payload.value();
        sums.time += piece.duration;
      }
    return sums;
  };
  const std::string on = "strategy.sync_batch_norm=true";
  EXPECT_EQ(meetings({}, &LayerCost::forward).calls, 0);
  EXPECT_EQ(meetings({on, "cluster.node=rental-epyc-9454p-256gb", "strategy.framework=pytorch-cpu",
                      "workload.precision=fp32"},
                     &LayerCost::forward)
                .calls,
            0);
  for (Segment LayerCost::*pass : {&LayerCost::forward, &LayerCost::backward_input}) {
    const Sums alone = meetings({on}, pass);
    EXPECT_EQ(alone.calls, 53);
    EXPECT_DOUBLE_EQ(alone.bytes, 26'560 * 2 * 4);
    const Seconds cycles = meetings({on, "strategy.framework=horovod"}, pass).time - alone.time;
    EXPECT_GT(cycles, 53 * Seconds(0.5e-3));
    EXPECT_LT(cycles, 53 * Seconds(0.6e-3));
  }
}

// Every gradient is in one unit: ResNet-50's 25,557,032 parameters in fp32 over the ring of 8.
TEST(SyncUnits, HoldEveryGradientOnce) {
  const Scenario scenario = shipped("resnet50-v100-8gpus.json");
  const Job job = lower(scenario);
  const std::vector<SyncUnit> units = sync_units(job, 0);
  ASSERT_GT(units.size(), 2U);
  Bytes sent;
  int next = static_cast<int>(job.chunks[0].layer_kinds.size()) - 1;
  for (const SyncUnit& unit : units) {
    EXPECT_LE(unit.last, next);
    next = unit.first - 1;
    sent += unit.reduce.native_bytes;
  }
  EXPECT_NEAR(sent.value(), 2.0 * 7 / 8 * 25'557'032 * 4, 1);
}

// AlexNet's first dense layer is 37.75 of 50.84 M parameters: its owner takes them from 15 others and sends them back.
TEST(SyncUnits, WholeTensorsMeetOnTheirOwners) {
  const Scenario scenario = shipped(
      "systems/mxnet-dist-sync.json",
      {"cluster.node=aws-p2.16xlarge", "cluster.nodes=1", "workload.model=alexnet-2012", "workload.precision=fp32",
       "workload.global_batch=8192", "strategy.micro_batch=512", "strategy.compression.method=none"});
  Bytes sent;
  for (const SyncUnit& unit : sync_units(lower(scenario), 0)) sent += unit.reduce.native_bytes;
  EXPECT_NEAR(sent / Bytes(2.0 * 15 * 37.75e6 * 4), 1, 1e-3);
}

// Sixteen processes in a ring pass 2·15/16 of VGG-16's 138.36 M fp32 gradients on, each at the profile's rate.
TEST(SyncUnits, ProcessesReduceAtTheirRate) {
  const Scenario scenario =
      shipped("resnet50-v100-8gpus.json",
              {"cluster.nodes=2", "workload.model=vgg16", "workload.global_batch=1024", "strategy.framework=kungfu"});
  Seconds flow;
  Bytes passed, sent;
  for (const SyncUnit& unit : sync_units(lower(scenario), 0)) {
    flow += unit.reduce_flow;
    passed += unit.reduce.native_bytes;
    sent += unit.reduce.network_bytes;
  }
  EXPECT_NEAR(passed / sent, 8, 1e-9);  // of a node's eight processes one sends to the other node
  const Seconds expected = Bytes(2.0 * 15 / 16 * 138'357'544 * 4) / scenario.framework->exchange.all_reduce;
  EXPECT_NEAR(flow / expected, 1, 1e-6);
}

/// A layer of matrices of so many elements each, and vectors beside them.
LayerCost layer_of(const std::vector<WeightMatrix>& matrices, double vectors) {
  LayerCost layer;
  layer.weight_matrices = matrices;
  layer.parameters = vectors;
  for (const WeightMatrix& matrix : matrices) layer.parameters += matrix.rows * matrix.columns * matrix.count;
  return layer;
}

// 1 MiB closes with the first tensor of 64 MiB, 25 MiB with the second of 12.5; the vectors are begun.
TEST(BucketCount, ClosesWithTheTensorThatFillsABucket) {
  BucketCount buckets(1_MiB, 25_MiB);
  const LayerCost layer = layer_of({{4096, 4096, 1}, {1280, 2560, 2}}, 100);
  buckets.add(layer, 4);
  EXPECT_EQ(buckets.limit(), 25_MiB);
  EXPECT_EQ(buckets.take(false), 2);
  buckets.add(layer_of({}, 100), 4);
  EXPECT_EQ(buckets.take(true), 1);
  buckets.add(layer_of({}, 100), 4);
  EXPECT_EQ(buckets.take(false), 1);  // what is sent is sent in one at least
}

// Four quarters of a matrix in each of four layers (a network known by its totals) are one tensor of a quarter each.
TEST(BucketCount, PartsOfMatricesAreTensors) {
  BucketCount buckets(1_MiB, 2_MiB);
  for (int i = 0; i < 4; ++i) buckets.add(layer_of({{1024, 1024, 0.25}}, 0), 4);
  EXPECT_EQ(buckets.take(true), 3);
}

std::vector<int> calls_of(const std::string& model) {
  const Scenario scenario =
      shipped("bert-large-16nodes.json", {"workload.model=" + model, "workload.seq_len=2048",
                                          "workload.global_batch=8192", "strategy.framework=pytorch-ddp"});
  std::vector<int> calls;
  for (const SyncUnit& unit : sync_units(lower(scenario), 0)) calls.push_back(unit.reduce.calls);
  return calls;
}

// fp32 gradients of a block's products in MiB: 64 and 128 (MLP, gate and up at once), 16 + 24 (attention). The table,
// 1,002 MiB, is one.
TEST(BucketCount, OnlyTheFirstBucketOfAStepIsSmall) {
  const std::vector<int> calls = calls_of("llama3.2-1b");
  ASSERT_EQ(calls.size(), 17U);
  for (std::size_t unit = 0; unit < 16; ++unit) EXPECT_EQ(calls[unit], 3) << unit;
  EXPECT_EQ(calls.back(), 1);
  EXPECT_EQ(calls_of("llama3-8b").front(), 1);  // the output layer's 2,004 MiB
}

TEST(SyncUnits, OneDeviceHasNobodyToSynchroniseWith) {
  const Scenario scenario = shipped("workstation-single-gpu.json");
  EXPECT_TRUE(sync_units(lower(scenario), 0).empty());
}

// Reduce-scatter and all-gather together carry what an all-reduce does.
TEST(SyncUnits, ShardedStatesSendAsMuchAsAnAllReduce) {
  const auto traffic = [](const char* sharding) {
    const Scenario scenario = shipped("llama3-70b-h100-512.json", {std::string("strategy.sharding=") + sharding});
    Bytes sum;
    for (const SyncUnit& unit : sync_units(lower(scenario), 1))
      sum +=
          unit.reduce.network_bytes + unit.gather.network_bytes * gradient_bytes(scenario) / parameter_bytes(scenario);
    return sum.value();
  };
  EXPECT_NEAR(traffic("zero-1") / traffic("none"), 1, 1e-6);
}

// Updated weights of 8-bit products travel in 8 bit from the ranks that hold their optimizer states; tables and output
// layers, parameters that are sharded themselves, those of 4-bit products, and gradients travel in 16.
TEST(SyncUnits, UpdatedParametersTravelInEightBit) {
  const auto traffic = [](const char* sharding, const char* precision) {
    const Scenario scenario =
        shipped("llama3-70b-h100-512.json",
                {std::string("strategy.sharding=") + sharding, std::string("workload.precision=") + precision,
                 "strategy.pipeline_parallel=1", "strategy.virtual_pipeline=1", "cluster.node=dgx-b200"});
    std::pair<double, double> sums;
    for (const SyncUnit& unit : sync_units(lower(scenario), 0)) {
      sums.first += unit.gather.network_bytes.value();
      sums.second += unit.reduce.network_bytes.value();
    }
    return sums;
  };
  const auto wide = traffic("zero-1", "bf16"), narrow = traffic("zero-1", "fp8");
  const double ends = 2.0 * 128'256 * 8192 / 70.55e9;  // embedding and output layer of all parameters
  EXPECT_NEAR(narrow.first / wide.first, (1 + ends) / 2, 1e-3);
  EXPECT_NEAR(traffic("zero-1", "fp4").first / wide.first, 1, 1e-9);    // no framework keeps weights in 4 bit
  EXPECT_NEAR(traffic("zero-1", "mxfp8").first / wide.first, 1, 1e-9);  // nor gathers weights with scales for blocks
  EXPECT_NEAR(narrow.second / wide.second, 1, 1e-9);
  EXPECT_NEAR(traffic("fsdp", "fp8").first / traffic("fsdp", "bf16").first, 1, 1e-9);
}

double hook_time(const char* global_batch) {
  const Scenario scenario = shipped("bert-large-16nodes.json", {"strategy.framework=pytorch-ddp-1x",
                                                                std::string("workload.global_batch=") + global_batch});
  Seconds sum;
  for (const LayerCost& layer : lower(scenario).layer_kinds)
    for (const Piece& piece : layer.backward_weight.pieces)
      if (piece.name == "gradient_hooks") sum += piece.duration;
  return sum.value() * static_cast<double>(scenario.degrees.micro_batches);
}

// 128 devices of 64 sequences: one pass, or eight of which the last alone reduces.
TEST(Lower, HooksRunInTheMicroBatchThatReduces) {
  EXPECT_GT(hook_time("8192"), 0);
  EXPECT_NEAR(hook_time("65536") / hook_time("8192"), 1, 0.05);
}

// Adam moves 28 bytes a parameter in fp32, SGD with momentum the 20 that the profile states.
TEST(Lower, TransformersAreUpdatedByAdam) {
  const auto bytes = [](const char* name, const char* framework) {
    const Scenario scenario =
        shipped(name, {std::string("strategy.framework=") + framework, "workload.precision=fp32"});
    const Job job = lower(scenario);
    return (job.optimizer - job.device.kernel_floor) * job.device.memory_bandwidth / Bytes(job.stage_parameters[0]);
  };
  EXPECT_NEAR(bytes("resnet50-v100-8nodes.json", "pytorch-ddp-1x"), 20, 1e-6);
  EXPECT_NEAR(bytes("bert-large-16nodes.json", "pytorch-ddp-1x"), 28, 1e-6);
}

// 48 bytes of host memory a parameter at 0.46 of an eighth of 716.8 GB/s, and 2 or 4 bytes of gradient down and 2 of
// parameter up the link.
TEST(Lower, AnOptimizerOnTheHostStreamsItsMemory) {
  const Scenario scenario =
      shipped("llama3-70b-h100-512.json",
              {"cluster.node=dgx-b200", "strategy.framework=deepspeed", "strategy.sharding=zero-3",
               "strategy.tensor_parallel=1", "strategy.pipeline_parallel=1", "strategy.virtual_pipeline=1",
               "strategy.sequence_parallel=false", "strategy.offload_optimizer=true"});
  const Job job = lower(scenario);
  const double shard = job.stage_parameters[0] / static_cast<double>(scenario.devices());
  const double streamed = shard * 48 / (0.46 * 716.8e9 / 8);
  EXPECT_GT(job.optimizer.value(), streamed);
  EXPECT_NEAR(job.optimizer.value(), streamed + shard * 5 / 64e9, 0.02 * streamed);
}

// Each of 8 tensor ranks sends an eighth; the gather in the node costs time but no network bytes.
TEST(StageMessage, ScatterSendsAShareOfTheActivation) {
  const Scenario scenario = shipped("gpt3-175b-a100-1024.json");
  const Job job = lower(scenario);
  const Bytes activation = job.chunks[0].send;
  EXPECT_NEAR(activation.value(), 2048.0 * 12288 * 2, 1);
  EXPECT_NEAR(stage_message(job, 0, 1, activation).cost.network_bytes.value(), activation.value() / 8, 1);
}

}  // namespace
}  // namespace stepcast::lower_test
