#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"

namespace stepcast::share_command_test {
namespace {

using testing::HasSubstr;

/// Data-parallel training on leaves of two nodes whose up-links carry one node's traffic. Its reductions follow the
/// backward pass, so that whatever slows them down shows in the step.
Json job(int nodes, double oversubscription = 2) {
  return {{"format_version", 1},
          {"name", "data parallel"},
          {"cluster",
           {{"node", "dgx-a100-80gb"},
            {"nodes", nodes},
            {"fabric", {{"preset", "fat-tree"}, {"nodes_per_leaf", 2}, {"oversubscription", oversubscription}}}}},
          {"workload", {{"model", "llama3.2-1b"}, {"global_batch", nodes}}},
          {"strategy", {{"framework", "megatron-lm-2021"}, {"tensor_parallel", 8}, {"micro_batch", 1}}}};
}

class Share : public testing::Test {
 protected:
  std::string file(const std::string& name, const Json& json) {
    const std::string out = (folder_ / name).string();
    write_file(out, json.dump());
    return out;
  }
  static Json outcome(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "share");
    arguments.emplace_back("--json");
    const Finished run = stepcast_run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.json();
  }
  void expect_fault(const std::vector<std::string>& scenarios, const std::string& words) {
    std::vector<std::string> arguments{"share"};
    arguments.insert(arguments.end(), scenarios.begin(), scenarios.end());
    const Finished run = stepcast_run(arguments);
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_EQ(run.out, "") << words;
    EXPECT_THAT(run.err, HasSubstr(words));
  }

 private:
  ScratchFolder folder_;
};

TEST_F(Share, ApartEachTakesWhatItTakesAlone) {
  const std::string four = file("four.json", job(4)), six = file("six.json", job(6));
  const Json shared = outcome({four, six});
  EXPECT_EQ(shared["mixing"], "apart");
  ASSERT_EQ(shared["jobs"].size(), 2U);
  for (std::size_t j = 0; j < 2; ++j) {
    const Finished alone = stepcast_run({"run", j == 0 ? four : six, "--json"});
    ASSERT_EQ(alone.code, 0) << alone.err;
    const Json& one = shared["jobs"][j];
    EXPECT_EQ(one["nodes"], j == 0 ? 4 : 6);
    EXPECT_NEAR(one["alone_s"].get<double>() / alone.json()["step_time_s"].get<double>(), 1, 1e-9);
    EXPECT_NEAR(one["together_s"].get<double>() / one["alone_s"].get<double>(), 1, 1e-9);
  }
}

// Several jobs are no scenario: the commands that want one say which command wants them.
TEST_F(Share, OtherCommandsRefuseAListOfJobs) {
  const std::string both = file("both.json", {{"jobs", {job(4), job(4)}}});
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", both}, {"run", both, "--fidelity", "analytic"}, {"explain", both}}) {
    const Finished run = stepcast_run(arguments);
    EXPECT_EQ(run.code, 2) << arguments.front();
    EXPECT_THAT(run.out + run.err, testing::AllOf(HasSubstr("/jobs"), HasSubstr("stepcast share")))
        << arguments.front();
  }
}

// A placement deals out a job's own nodes, and is its own affair.
TEST_F(Share, ScatteredJobsApartAreNotInEachOthersWay) {
  Json scattered = job(4);
  scattered["cluster"]["fabric"]["placement"] = "scattered";
  const Json shared = outcome({file("scattered.json", scattered), file("packed.json", job(4))});
  for (const Json& one : shared["jobs"]) EXPECT_NEAR(one["slowdown"].get<double>(), 1, 1e-9);
  EXPECT_GT(shared["jobs"][0]["alone_s"].get<double>(), shared["jobs"][1]["alone_s"].get<double>());
}

TEST_F(Share, InterleavedTheyHoldEachOtherUp) {
  const std::string four = file("four.json", job(4));
  const Json narrow = outcome({four, four, "--mixing", "interleaved"});
  for (const Json& one : narrow["jobs"]) EXPECT_GT(one["slowdown"].get<double>(), 1.02);
  // With up-links for all of a leaf's traffic nobody is in anybody's way.
  const std::string wide = file("wide.json", job(4, 1));
  const Json apart = outcome({wide, wide, "--mixing", "interleaved"});
  for (const Json& one : apart["jobs"]) EXPECT_NEAR(one["slowdown"].get<double>(), 1, 1e-9);
}

TEST_F(Share, OneFileOrSeveralIsTheSame) {
  const std::string four = file("four.json", job(4));
  const std::string both = file("both.json", {{"jobs", {job(4), job(4)}}, {"mixing", "interleaved"}});
  EXPECT_EQ(outcome({both}).dump(), outcome({four, four, "--mixing", "interleaved"}).dump());
  const Finished text = stepcast_run({"share", both});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("2 jobs on one fabric, interleaved"));
}

TEST_F(Share, FaultsSayWhichJobAndWhere) {
  const std::string four = file("four.json", job(4));
  expect_fault({four, "no-such-file.json"}, "no-such-file.json: cannot be read");
  expect_fault({four, file("large.json", job(2'000'000))}, "/jobs/1/cluster/nodes: found 2000000");
  expect_fault({four, file("other.json", job(4, 3))}, "/jobs/1/cluster/fabric: ");
  expect_fault({four}, "/jobs: ");
  const std::string slice = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/systems/tpu-v4-pod.json";
  expect_fault({slice, slice, "--mixing", "interleaved"}, "/mixing: found interleaved on a torus");
  expect_fault({file("key.json", {{"jobs", {job(4), job(4)}}, {"mixin", "apart"}})}, "/mixin: ");
}

}  // namespace
}  // namespace stepcast::share_command_test
