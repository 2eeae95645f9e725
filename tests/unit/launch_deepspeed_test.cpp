// What `stepcast plan` writes for DeepSpeed is the option that it is for: DeepSpeed takes it, and overlaps as forecast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/imported_scenario.hpp"
#include "planner/launch/launch.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::launch_deepspeed_test {
namespace {

using test::catalog;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Scenario scenario_of(Json strategy) {
  strategy["framework"] = "deepspeed";
  return resolve({{"cluster", {{"node", "dgx-h100"}, {"nodes", 2}}},
                  {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
                  {"strategy", std::move(strategy)}},
                 "exported", {}, catalog());
}

// The forecast of stage 3 always overlaps, and DeepSpeed does so unless told otherwise (runtime/zero/config.py).
TEST(LaunchDeepSpeed, OverlapsWhatItsForecastDoes) {
  const auto overlaps = [](const Json& strategy) {
    return deepspeed_config(scenario_of(strategy)).at("zero_optimization").at("overlap_comm").get<bool>();
  };
  EXPECT_TRUE(overlaps({{"sharding", "zero-3"}}));
  EXPECT_FALSE(overlaps({{"sharding", "zero-2"}}));
  EXPECT_TRUE(overlaps({{"sharding", "zero-2"}, {"overlap_gradients", true}}));
}

Scenario read_back(const Scenario& scenario) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / "deepspeed.json";
  std::ofstream(file) << deepspeed_config(scenario);
  ImportTarget target;
  target.model = "llama3-8b";
  target.node = "dgx-h100";
  target.nodes = scenario.spec.cluster.nodes;
  const ImportedScenario imported = import_deepspeed(file, target, catalog());
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("data_parallel_size"))));
  return resolve(imported.scenario, "read", {}, catalog());
}

// DeepSpeed asserts that micro-batches of its replicas, of which Ulysses leaves fewer than devices, are the batch.
TEST(LaunchDeepSpeed, CountsReplicasThatShareASequence) {
  const Scenario given =
      scenario_of({{"sharding", "zero-3"}, {"context_parallel", 4}, {"context_method", "ulysses"}, {"micro_batch", 2}});
  const Json config = deepspeed_config(given);
  EXPECT_EQ(config.at("sequence_parallel_size"), 4);
  EXPECT_EQ(config.at("data_parallel_size"), 4);
  const Scenario read = read_back(given);
  EXPECT_EQ(read.degrees.cp, 4);
  EXPECT_EQ(read.degrees.micro_batch, 2);
  EXPECT_EQ(read.degrees.micro_batches, given.degrees.micro_batches);
  EXPECT_EQ(read.spec.workload.global_batch, 64);
  EXPECT_THAT(beyond_deepspeed_config(given), Not(Contains("context_parallel 4")));
  EXPECT_FALSE(deepspeed_config(scenario_of({{"sharding", "zero-3"}})).contains("sequence_parallel_size"));
}

TEST(LaunchDeepSpeed, LosesNoKeyOfTheStrategy) {
  EXPECT_THAT(beyond_deepspeed_config(scenario_of({{"sharding", "zero-3"}})), testing::IsEmpty());
  const std::vector<std::string> beyond = beyond_deepspeed_config(
      scenario_of({{"sharding", "zero-2"}, {"fused_norm", true}, {"fused_loss", true}, {"overlap_gradients", true}}));
  EXPECT_THAT(beyond, testing::UnorderedElementsAre("fused_loss true", "fused_norm true"));
}

// The mesh of a pipeline would be of its replicas' ranks alone, and is no mesh of all devices.
TEST(LaunchDeepSpeed, LeavesThePipelinesRanksToItsTopology) {
  const Json config = deepspeed_config(scenario_of(
      {{"sharding", "zero-1"}, {"context_parallel", 2}, {"context_method", "ulysses"}, {"pipeline_parallel", 2}}));
  EXPECT_EQ(config.at("sequence_parallel_size"), 2);
  EXPECT_FALSE(config.contains("data_parallel_size"));
}

}  // namespace
}  // namespace stepcast::launch_deepspeed_test
