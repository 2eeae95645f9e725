// Input from a shared storage system comes over the NICs that carry collectives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "models/storage/storage.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"

namespace stepcast {
namespace {

constexpr int kNodes = 4;
constexpr int kDevices = 8;  ///< of a node
constexpr int kBatch = kNodes * kDevices * 128;

const Catalog& catalog() {
  static const Catalog instance = Catalog::standard({});
  return instance;
}

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

double step_of(const Scenario& scenario, FlowDetail flows) {
  return std::stod(run_in_child([&] {
    const Job job = lower(scenario);
    BuildOptions options = build_options(scenario);
    options.flows = flows;
    return fmt::format("{:.17g}", simulate(build_step_graph(job, options)).end.value());
  }));
}

class StorageTraffic : public testing::TestWithParam<FlowDetail> {
 protected:
  static double step(bool reading, int nics, double gigabits) {
    return step_of(training(reading, nics, gigabits), GetParam());
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

INSTANTIATE_TEST_SUITE_P(Flows, StorageTraffic, testing::Values(FlowDetail::folded, FlowDetail::full),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace stepcast
