// What `stepcast plan` writes for DeepSpeed is the option that it is for: DeepSpeed takes it, and overlaps as forecast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/imported_scenario.hpp"
#include "planner/launch/launch.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::launch_deepspeed_test {
namespace {

using test::catalog;

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

}  // namespace
}  // namespace stepcast::launch_deepspeed_test
