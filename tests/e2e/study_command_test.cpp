#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/process.hpp"

namespace stepcast::study_command_test {
namespace {

// The work is stated of the baseline's batch, whether it says so or not: a variant of four times the batch needs more.
TEST(Study, TheWorkIsThatOfTheBaselinesBatch) {
  const ScratchFolder folder;
  Diagnostics diagnostics("study");
  Json study = read_json(scenario_file("power-optimisation"), diagnostics);
  study["scenario"]["run"]["fidelity"] = "analytic";
  const auto result = [&](const char* name) {
    const auto file = folder / name;
    std::ofstream(file) << study.dump();
    const Finished run = stepcast_run({"study", file.string(), "--json"});
    EXPECT_EQ(run.code, 0) << run.err;
    return run.json()["variants"];
  };
  const Json stated = result("stated.json");
  study["scenario"]["workload"].erase("stated_at_batch");
  EXPECT_EQ(result("default.json"), stated);
}

}  // namespace
}  // namespace stepcast::study_command_test
