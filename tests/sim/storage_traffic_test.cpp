// What shared storage gives and takes comes over the NICs that carry collectives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/closed_form.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/storage/storage.hpp"
#include "report/predict.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/run_writing.hpp"
#include "sim/protocol/child_process.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/sim/simulated_step.hpp"

namespace stepcast::storage_traffic_test {
namespace {

using test::catalog;
using test::simulated_step;

constexpr int kNodes = 4;
constexpr int kDevices = 8;  ///< of a node
constexpr int kBatch = kNodes * kDevices * 128;

/// ResNet-50 on servers that have no drives and no NICs for storage: what they read, if anything, comes over the NICs
/// that train. The storage system has more than they can take.
Scenario training(bool reading, int nics, double gigabits) {
  Json json{{"cluster",
             {{"node", "aws-p3.16xlarge"},
              {"nodes", kNodes},
              {"fabric", {{"preset", "fat-tree"}, {"nics_per_node", nics}, {"nic_bandwidth_Gbps", gigabits}}}}},
            {"workload", {{"model", "resnet50"}, {"global_batch", kBatch}, {"precision", "fp16"}}},
            {"strategy", {{"framework", "pytorch-ddp"}}}};
  if (reading) json["cluster"]["storage"] = "3fs-deepseek";
  return resolve(json, "test", {}, catalog());
}

class StorageTraffic : public testing::TestWithParam<FlowDetail> {
 protected:
  static double step(bool reading, int nics, double gigabits) {
    return simulated_step(training(reading, nics, gigabits), GetParam());
  }
};

TEST_P(StorageTraffic, SlowsCollectivesDownTheMoreTheFewerNicsThereAre) {
  double before = 1e9;
  for (const int nics : {1, 2, 8}) {
    const double added = step(true, nics, 10) - step(false, nics, 10);
    EXPECT_GE(added, 0) << nics;
    EXPECT_LE(added, before) << nics;
    before = added;
  }
  EXPECT_GT(step(true, 1, 10), 1.05 * step(false, 1, 10));
}

// A reading NIC may meet other buckets than a slower one did, so a hair is allowed.
TEST_P(StorageTraffic, IsNeverSlowerWithMoreBandwidth) {
  double before = 1e9;
  for (const double gigabits : {5.0, 10.0, 20.0, 40.0, 80.0}) {
    const double now = step(true, 1, gigabits);
    EXPECT_LE(now, 1.01 * before) << gigabits;
    before = now;
  }
}

TEST_P(StorageTraffic, TakesAtLeastWhatTheNicsNeedForIt) {
  const Scenario scenario = training(true, 1, 5);
  const Bytes of_node = input_per_device(scenario) * kDevices;
  EXPECT_GT(step(true, 1, 5), (of_node / 5_Gbps).value());
}

TEST_P(StorageTraffic, IsEverySampleOnce) {
  const Scenario scenario = training(true, 1, 25);
  const Job job = lower(scenario);
  BuildOptions options = build_options(scenario);
  options.flows = GetParam();
  const StepGraph graph = build_step_graph(job, options);
  Bytes all, largest;
  for (const Operation& operation : graph.operations()) {
    if (operation.name != "read input") continue;
    for (const Flow& flow : graph.flows(operation)) {
      all += flow.bytes;
      largest = std::max(largest, flow.bytes);
    }
  }
  // Folded, a flow of one node over its NICs stands beside the one that carries all nodes' out of the system.
  const Bytes read = GetParam() == FlowDetail::full ? all : largest;
  EXPECT_NEAR(read / (scenario.model->sample_bytes * kBatch), 1, 1e-9);
}

/// The same training, saved by an asynchronous checkpoint of so many bytes.
Scenario saving(std::string_view kind, int nics, double gigabits, FlowDetail flows, double terabytes = 10) {
  Scenario out = training(true, nics, gigabits);
  out.spec.workload.input.source = InputSource::local;
  out.spec.run.flows = flows;
  out.spec.run.checkpoint.kind = *parse_enum<CheckpointKind>(kind);
  out.spec.run.checkpoint.size = terabytes * 1_TB;
  return out;
}

std::optional<Seconds> while_writing(const Scenario& scenario) {
  const Job job = lower(scenario);
  return WritingRun(job).step();
}

TEST_P(StorageTraffic, OfACheckpointSlowsAStepByWhatItTakesOfTheNics) {
  const Scenario scenario = saving("asynchronous", 1, 10, GetParam());
  const double usual = simulated_step(scenario, GetParam());
  const std::optional<Seconds> writing = while_writing(scenario);
  ASSERT_TRUE(writing);
  EXPECT_GT(writing->value(), 1.05 * usual);
  // It shares the NICs with collectives flow by flow, so it takes half of them at most.
  EXPECT_LT(writing->value(), 2 * usual);
}

TEST_P(StorageTraffic, OfACheckpointIsGoneWhenItIsWritten) {
  const double usual = simulated_step(saving("asynchronous", 1, 10, GetParam()), GetParam());
  double before = usual;
  for (const double terabytes : {1e-5, 1e-2, 10.0}) {
    const double now = while_writing(saving("asynchronous", 1, 10, GetParam(), terabytes))->value();
    EXPECT_GE(now, before * (1 - 1e-9)) << terabytes;
    before = now;
  }
  EXPECT_NEAR(while_writing(saving("asynchronous", 1, 10, GetParam(), 1e-5))->value() / usual, 1, 0.01);
}

TEST_P(StorageTraffic, OfACheckpointIsNoneWhereItStopsTrainingOrStaysOnTheNodes) {
  EXPECT_FALSE(while_writing(saving("sharded", 1, 10, GetParam())));
  EXPECT_FALSE(while_writing(saving("none", 1, 10, GetParam())));
  Scenario local = saving("asynchronous", 1, 10, GetParam());
  local.spec.run.checkpoint.target = CheckpointTarget::local;
  EXPECT_FALSE(while_writing(local));
  Scenario apart = saving("asynchronous", 1, 10, GetParam());
  Node node = *apart.node;
  node.nics.push_back(node.nics.front());
  node.nics.back().training = false;
  apart.node = &node;
  EXPECT_FALSE(while_writing(apart));
}

// Nobody states the drives of a TPU's host; its links to the devices are known, and hold every step up.
TEST_P(StorageTraffic, OverHostLinksIsCountedWhereTheDrivesAreUnknown) {
  const Scenario s = resolve({{"cluster", {{"node", "tpu-v6e-host"}, {"nodes", 4}}},
                              {"workload", {{"model", "graphsage-products"}, {"global_batch", 4096}}},
                              {"strategy", {{"framework", "tensorflow-tpu"}, {"micro_batch", 32}}}},
                             "test", {}, catalog());
  ASSERT_FALSE(node_read_rate(s));
  EXPECT_NEAR(simulated_step(s, GetParam()) / input_time(s).value(), 1, 0.01);
}

/// The training above on servers that have drives, input stated as `input` says.
Scenario with_input(const char* storage, const Json& input) {
  Json json{{"cluster", {{"node", "dgx-1-v100-16gb"}, {"nodes", kNodes}}},
            {"workload", {{"model", "resnet50"}, {"global_batch", kBatch}, {"precision", "fp16"}, {"epochs", 90}}},
            {"strategy", {{"framework", "pytorch-ddp"}}}};
  json["workload"]["input"] = input;
  if (*storage != '\0') json["cluster"]["storage"] = storage;
  return resolve(json, "test", {}, catalog());
}

// Stages of the pipeline run beside one another, whichever is the slowest.
TEST_P(StorageTraffic, BindsAStepAsInClosedForm) {
  const std::vector<std::pair<const char*, Json>> cases{
      {"nfs-10gbe", {{"page_cache", false}}},
      {"nfs-10gbe", {{"dataset_GB", 716.8}}},
      {"nfs-10gbe", {{"page_cache", false}, {"device_sample_kB", 60000}}},
      {"", {{"pinned", false}, {"device_sample_kB", 60000}}},
      {"", {{"device_sample_kB", 60000}}},
  };
  for (const auto& [storage, input] : cases) {
    const Scenario s = with_input(storage, input);
    EXPECT_NEAR(simulated_step(s, GetParam()) / input_time(s).value(), 1, 0.01) << storage << input;
  }
}

/// Replicas of so many stages on four nodes, whose cores take longer to decode than the devices to train.
Scenario pipeline_that_decodes(int stages) {
  return resolve(
      {{"cluster", {{"node", "dgx-h100"}, {"nodes", 4}}},
       {"workload",
        {{"model", "llama3-8b"},
         {"global_batch", 16},
         {"seq_len", 2048},
         {"precision", "bf16"},
         {"input", {{"sample_kB", 8}, {"decode_ms", 500000}}}}},
       {"strategy",
        {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"pipeline_parallel", stages}, {"micro_batch", 1}}}},
      "test", {}, catalog());
}

// Whoever waits for input draws what ready devices do, and who waits for them what a receive kernel does.
TEST_P(StorageTraffic, LeavesDevicesAtThePowerOfTheClosedForm) {
  for (const int stages : {1, 2}) {
    const Scenario s = pipeline_that_decodes(stages);
    const double simulated = std::stod(run_in_child([&] {
      const Job job = lower(s);
      BuildOptions options = build_options(s);
      options.flows = GetParam();
      const StepGraph graph = build_step_graph(job, options);
      return fmt::format("{:.17g}", breakdown_of(job, graph, simulate(graph)).average_device_power.value());
    }));
    EXPECT_NEAR(simulated / closed_form(lower(s)).average_device_power.value(), 1, 0.02) << stages;
  }
}

TEST_P(StorageTraffic, IsNoneOfTheSharedSystemWhereInputLiesOnTheNodes) {
  const Json local{{"source", "local"}, {"page_cache", false}};
  EXPECT_EQ(simulated_step(with_input("nfs-10gbe", local), GetParam()),
            simulated_step(with_input("", local), GetParam()));
}

// Two nodes of four hold the first stage of pipelines, and read for all.
TEST_P(StorageTraffic, IsReadByTheNodesOfTheFirstStage) {
  const Scenario s = pipeline_that_decodes(2);
  EXPECT_NEAR(simulated_step(s, GetParam()) / input_time(s).value(), 1, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Flows, StorageTraffic, testing::Values(FlowDetail::folded, FlowDetail::full),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace stepcast::storage_traffic_test
