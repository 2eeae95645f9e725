#include "models/storage/input_pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/parallelism/lowering.hpp"
#include "models/power/power.hpp"
#include "models/reliability/goodput.hpp"
#include "models/storage/rates.hpp"
#include "models/storage/storage.hpp"
#include "report/predict.hpp"
#include "report/run_outlook.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::input_pipeline_test {
namespace {

using test::catalog;
using test::shipped;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAnalytic = "run.fidelity=analytic";

Prediction predicted(const std::string& name, std::vector<std::string> overrides) {
  overrides.emplace_back(kAnalytic);
  return predict_analytic(shipped(name, overrides), catalog());
}

const InputLimit* limit_of(const InputPipeline& pipeline, InputStage stage) {
  for (const InputLimit& limit : pipeline.limits)
    if (limit.stage == stage) return &limit;
  return nullptr;
}

const char* const kResnet = "resnet50-v100-8nodes.json";

TEST(InputPipeline, DecodingTakesTheNodesRealCores) {
  const InputPipeline pipeline = input_pipeline(shipped(kResnet, {"workload.input.decode_ms=10"}));
  const InputLimit* decode = limit_of(pipeline, InputStage::decode);
  ASSERT_NE(decode, nullptr);
  // DGX-1: two processors of 20 cores, 8 nodes, 100 samples a second each.
  EXPECT_NEAR(decode->samples_per_s, 8 * 40 * 100, 1e-6);
}

TEST(InputPipeline, SlowDecodingStallsTheStepAndSaysWhatWouldHelp) {
  const Prediction free = predicted(kResnet, {});
  const Prediction bound = predicted(kResnet, {"workload.input.decode_ms=30"});
  EXPECT_EQ(free.outlook->input.bound, "none");
  EXPECT_EQ(bound.outlook->input.bound, "decode");
  EXPECT_NEAR(bound.samples_per_s, 8 * 40 / 0.030, 1);
  EXPECT_GT(bound.step_time, free.step_time);
  EXPECT_THAT(bound.outlook->input.advice, Contains(HasSubstr("decoded")));
  ASSERT_TRUE(free.outlook->input.decode_budget);
  EXPECT_NEAR(free.outlook->input.decode_budget->value() * free.samples_per_s, 8 * 40, 1e-6);
}

// Training takes 12,800 samples a second of the cores that there are; as fast as it would go without waiting it needs
// its own rate times the time of a sample.
TEST(InputPipeline, AdviceNamesWhatTrainingWouldTake) {
  const Prediction free = predicted(kResnet, {});
  const Prediction bound = predicted(kResnet, {"workload.input.decode_ms=100"});
  const double cores = std::ceil(free.samples_per_s * 0.1);
  EXPECT_GT(cores, 10 * 320);
  EXPECT_THAT(bound.outlook->input.advice, Contains(HasSubstr(fmt::format("{:.0f} cores would be needed", cores))));
}

// What the optimizer and a checkpoint's copy take of a node's memory is no page cache.
TEST(InputPipeline, ThePageCacheIsWhatHostMemoryHasLeft) {
  const char* const document = R"({"cluster": {"node": "dgx-a100-40gb", "nodes": 8},
    "workload": {"model": "llama3-70b", "global_batch": 64, "seq_len": 2048, "tokens": 1e12,
                 "input": {"dataset_GB": 2000}},
    "strategy": {"framework": "deepspeed", "sharding": "zero-3", "micro_batch": 1, "recompute": "full"}})";
  const auto scenario = [&](const std::vector<std::string>& terms) {
    return resolve(Json::parse(document), "test", terms, catalog());
  };
  const std::string offload = "strategy.offload_optimizer=true", copies = R"(run.checkpoint={"kind":"asynchronous"})";
  const Scenario plain = scenario({}), offloaded = scenario({offload}), copied = scenario({copies}),
                 both = scenario({offload, copies});
  EXPECT_NEAR(input_pipeline(plain).cached, 0.7 * plain.node->memory / 2000_GB, 1e-9);
  for (const Scenario* taken : {&offloaded, &copied}) {
    const MemoryReport memory = memory_of(lower(*taken));
    EXPECT_GT(memory.host(), 10_GiB);
    EXPECT_NEAR(input_pipeline(*taken).cached, 0.7 * (taken->node->memory - 8 * memory.host()) / 2000_GB, 1e-9);
  }
  // 14 bytes a parameter over 64 devices.
  EXPECT_NEAR(memory_of(lower(copied)).host() / (checkpoint_size(lower(copied)) / 64), 1, 1e-9);
  // Moments and master copies are in host memory before they are saved.
  EXPECT_LT(checkpoint_cost(lower(both)).stall, checkpoint_cost(lower(copied)).stall);
}

TEST(Drives, ThatHoldLessThanIsAskedOfThemAreNamed) {
  const auto assumed = [](std::vector<std::string> terms) { return predicted(kResnet, std::move(terms)).assumptions; };
  EXPECT_THAT(assumed({}), Not(Contains(HasSubstr("drives"))));
  EXPECT_THAT(assumed({"workload.input.dataset_GB=1000000"}), Contains(HasSubstr("the data set of 1 PB is more than")));
  EXPECT_THAT(assumed({"run.checkpoint.size_GB=100000"}),
              Contains(HasSubstr("the next take 50 TB of a node's drives")));
}

// No kernel runs while devices wait for input, so the longer they wait the nearer they are to what ready ones draw.
TEST(InputPipeline, DevicesThatWaitForItAreReadyAndNoMore) {
  const std::vector<std::string> slow{"workload.input.decode_ms=300"};
  const Prediction free = predicted(kResnet, {}), bound = predicted(kResnet, slow);
  const PowerModel power = power_model(shipped(kResnet, slow));
  const double working = free.step_time / bound.step_time;
  EXPECT_LT(working, 0.2);
  EXPECT_NEAR(bound.device_average_power.value(),
              (working * free.device_average_power + (1 - working) * power.device_ready).value(), 1e-6);
}

TEST(InputPipeline, ObjectStoresAreAsFastAsTheirConnections) {
  const std::vector<std::string> store{"cluster.storage=s3-standard", "workload.input.connections=10",
                                       "workload.input.samples_per_file=1000", "workload.input.sample_kB=100",
                                       "workload.epochs=1"};
  const InputPipeline pipeline = input_pipeline(shipped(kResnet, store));
  const InputLimit* requests = limit_of(pipeline, InputStage::requests);
  ASSERT_NE(requests, nullptr);
  // 100 MB at 87.5 MB/s and 150 ms to the first byte; 80 connections.
  EXPECT_NEAR(requests->samples_per_s, 80 / (0.150 + 100 / 87.5) * 1000, 1);
}

TEST(InputPipeline, SmallFilesOnAParallelFileSystemWaitForOpening) {
  const std::vector<std::string> small{"cluster.storage=frontier-orion", "workload.input.samples_per_file=1",
                                       "workload.input.workers=4", "workload.input.page_cache=false"};
  const InputPipeline pipeline = input_pipeline(shipped(kResnet, small));
  const InputLimit* requests = limit_of(pipeline, InputStage::requests);
  ASSERT_NE(requests, nullptr);
  EXPECT_NEAR(requests->samples_per_s, 64 * 4 / 2300e-6, 1);
}

TEST(InputPipeline, ThePageCacheAnswersRepeatedReads) {
  const InputPipeline cold = input_pipeline(shipped(kResnet, {"workload.epochs=1"}));
  const InputPipeline warm = input_pipeline(shipped(kResnet, {"workload.epochs=90"}));
  const InputPipeline none = input_pipeline(shipped(kResnet, {"workload.input.page_cache=false"}));
  EXPECT_EQ(cold.cached, 0);
  EXPECT_EQ(warm.cached, 1);  // ImageNet, 140 GB, in 512 GB of memory
  EXPECT_EQ(none.cached, 0);
  EXPECT_EQ(limit_of(warm, InputStage::storage), nullptr);
}

TEST(InputPipeline, PageableCopiesAreSlower) {
  const auto copy = [](const char* pinned) {
    return limit_of(input_pipeline(shipped(kResnet, {pinned})), InputStage::copy)->samples_per_s;
  };
  EXPECT_NEAR(copy("workload.input.pinned=false") / copy("workload.input.pinned=true"), 0.45, 1e-9);
}

// Of pipelines of four stages only the nodes of the first one take input in: 16 of 64.
TEST(InputPipeline, IsThatOfTheNodesWithAFirstStage) {
  const Scenario s =
      shipped("llama3-70b-h100-512.json", {"workload.input.decode_ms=500000", "workload.input.source=local"});
  ASSERT_EQ(s.degrees.pp, 4);
  const InputPipeline pipeline = input_pipeline(s);
  EXPECT_EQ(pipeline.nodes(), 16);
  const InputLimit* decode = limit_of(pipeline, InputStage::decode);
  ASSERT_NE(decode, nullptr);
  EXPECT_NEAR(decode->samples_per_s, 16 * cores_per_node(s) / 500, 1e-9);
  const InputLimit* storage = limit_of(pipeline, InputStage::storage);
  ASSERT_NE(storage, nullptr);
  EXPECT_THAT(storage->words, HasSubstr("16 of 64 nodes"));
  EXPECT_NEAR(decode_budget(pipeline, 100)->value(), 16 * cores_per_node(s) / 100, 1e-9);
}

// Stages that share nodes all have some of the first one, on fewer devices.
TEST(InputPipeline, IsThatOfEveryNodeWhereStagesShareThem) {
  const Scenario s = shipped("llama3-70b-h100-512.json", {"strategy.tensor_parallel=2", "strategy.pipeline_parallel=4",
                                                          "strategy.order=tp-cp-ep-pp-dp", "workload.input.workers=3"});
  const InputPipeline pipeline = input_pipeline(s);
  EXPECT_EQ(pipeline.nodes(), 64);
  EXPECT_EQ(pipeline.readers_per_node, 2);
}

// What loaders take of processors that train is missing there.
TEST(InputPipeline, DecodingTakesCoresFromTraining) {
  const auto rate = [](const char* decode) {
    return predicted("rental-cpu-server.json", {kAnalytic, "workload.model=resnet50", decode}).samples_per_s;
  };
  const Scenario scenario = shipped("rental-cpu-server.json", {});
  const double alone = rate("workload.input.decode_ms=0");
  const double decoding = cores_per_node(scenario) * scenario.spec.cluster.nodes / 0.1;
  EXPECT_NEAR(rate("workload.input.decode_ms=100") / (1 / (1 / alone + 1 / decoding)), 1, 0.02);
}

// Eight processes a node decode 100 samples a second each: servers, and whatever else workers exchange by, cannot
// train faster.
TEST(InputPipeline, BoundsWorkersThatExchangeApart) {
  for (const char* exchange :
       {R"({"framework": "tensorflow-ps", "update": "asynchronous", "parameter_servers": {"count": 2}})",
        R"({"framework": "pytorch-ddp", "update": "local", "local_steps": 8})"}) {
    Json json{{"cluster", {{"node", "template-2x-xeon-8380-8xa6000-rdma100-1tb"}, {"nodes", 8}}},
              {"workload",
               {{"model", "resnet50"},
                {"global_batch", 4096},
                {"input", {{"source", "local"}, {"decode_ms", 10}, {"workers", 1}}}}},
              {"strategy", Json::parse(exchange)}};
    json["strategy"]["micro_batch"] = 64;
    const Scenario s = resolve(json, "test", {}, catalog());
    EXPECT_LE(predict_analytic(s, catalog()).samples_per_s, 6400 * (1 + 1e-9)) << exchange;
  }
}

}  // namespace
}  // namespace stepcast::input_pipeline_test
