#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "tests/e2e/process.hpp"

namespace stepcast::validate_test {
namespace {

using testing::HasSubstr;

std::string shipped_csv(const std::string& name) { return STEPCAST_SOURCE_DIR "/calibration/data/" + name + ".csv"; }

TEST(Validate, ScoresEveryShippedSetUnderTheNamesThatScriptsRelyOn) {
  const auto start = std::chrono::steady_clock::now();
  const Finished run = stepcast_run({"validate", "--json"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));  // a hang; the aim is 3 s
  ASSERT_EQ(run.code, 0) << run.err;
  const Json sets = run.json()["sets"];
  ASSERT_GE(sets.size(), 16u);
  for (const Json& set : sets) {
    const auto name = set["name"].get<std::string>();
    for (const char* key :
         {"name", "rows", "covered", "mape_pct", "median_ape_pct", "p90_ape_pct", "max_ape_pct", "bias_pct",
          "kendall_tau", "kendall_tau_within", "memory_mape_pct", "memory_max_ape_pct", "regret"})
      EXPECT_TRUE(set.contains(key)) << name << " " << key;
    if (set["covered"] > 0) {
      EXPECT_GT(set["mape_pct"], 0) << name;
    }
    EXPECT_LE(set["worst"].size(), 10u) << name;
    if (name.starts_with("operators") || name.starts_with("collectives")) continue;
    int not_covered = 0;
    for (const Json& reason : set["not_covered"]) not_covered += reason["rows"].get<int>();
    EXPECT_EQ(set["covered"].get<int>() + not_covered, set["rows"].get<int>()) << name;
    if (set["covered"] == 0) continue;
    // The fewest rows, those that no fit reads, are nearly equal runs.
    EXPECT_GT(set["kendall_tau"], 0.4) << name;
    EXPECT_EQ(set["worst"][0]["error_pct"], set["max_ape_pct"]) << name;
  }
}

TEST(Validate, PrintsATableWithTheWorstRows) {
  const Finished run = stepcast_run({"validate", "--set", "llm-runs-published"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("llm-runs-published"));
  EXPECT_THAT(run.out, HasSubstr("not covered"));
  EXPECT_THAT(run.out, HasSubstr("worst rows"));
  EXPECT_THAT(run.out, HasSubstr("peak memory"));
}

TEST(Validate, ScoresAFileAsItScoresTheSet) {
  const Json of_set = stepcast_run({"validate", "--set", "megatron-published", "--json"}).json();
  const Json of_file = stepcast_run({"validate", "--file", shipped_csv("megatron-published"), "--json"}).json();
  EXPECT_EQ(of_set, of_file);
}

TEST(Validate, SimulatedAndInClosedFormAreAboutAsFarOff) {
  const std::vector<std::string> arguments{"validate", "--set", "megatron-published", "--json"};
  std::vector<std::string> simulated = arguments;
  simulated.insert(simulated.end(), {"--fidelity", "simulated", "--jobs", "2"});
  const Json closed = stepcast_run(arguments).json()["sets"][0], engine = stepcast_run(simulated).json()["sets"][0];
  EXPECT_EQ(engine["covered"], closed["covered"]);
  EXPECT_NEAR(engine["mape_pct"].get<double>(), closed["mape_pct"].get<double>(), 3);
}

/// Column sets are recognised by their headers: what a user scores needs no option that names its kind.
TEST(Validate, RecognisesEveryColumnSetByItsHeader) {
  for (const char* name : {"megatron-a100-multi-node", "megatron-published", "fsdp-runs", "b200-single-node",
                           "llm-runs-published", "operators-conv", "collectives-nvlink"}) {
    const Finished run = stepcast_run({"validate", "--file", shipped_csv(name), "--json"});
    ASSERT_EQ(run.code, 0) << name << run.err;
    EXPECT_GT(run.json()["sets"][0]["covered"], 0) << name;
  }
}

TEST(Validate, RegretIsThatOfTheGroupsItPrints) {
  const Json set =
      stepcast_run({"validate", "--set", "megatron-a100-multi-node", "--regret", "--json"}).json()["sets"][0];
  double worst = 0, sum = 0;
  for (const Json& group : set["groups"]) {
    EXPECT_GE(group["configurations"].size(), 4u);
    worst = std::max(worst, group["regret_pct"].get<double>());
    sum += group["regret_pct"].get<double>();
  }
  EXPECT_NEAR(set["regret"]["worst_pct"].get<double>(), worst, 1e-6);
  EXPECT_NEAR(set["regret"]["mean_pct"].get<double>(), sum / static_cast<double>(set["groups"].size()), 1e-6);
}

TEST(Validate, DrawsOnePage) {
  const Finished run = stepcast_run({"validate", "--set", "fsdp-runs", "--html"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("<!DOCTYPE html>"));
  EXPECT_THAT(run.out, HasSubstr("h100-sxm-80gb"));
  EXPECT_EQ(stepcast_run({"validate", "--set", "fsdp-runs", "--html", "--json"}).code, 2);
}

TEST(Validate, RecordsFiguresAndFindsWorseOnes) {
  const ScratchFolder folder;
  const std::string file = (folder / "recorded.json").string();
  ASSERT_EQ(stepcast_run({"validate", "--set", "fsdp-runs", "--record", file}).code, 0);
  EXPECT_EQ(stepcast_run({"validate", "--set", "fsdp-runs", "--check", file}).code, 0);
  std::ofstream(file) << R"({"sets": {"fsdp-runs": {"mape_pct": 0.1, "rows": 108, "covered": 108}}})";
  const Finished worse = stepcast_run({"validate", "--set", "fsdp-runs", "--check", file});
  EXPECT_EQ(worse.code, 1);
  EXPECT_THAT(worse.out, HasSubstr("fsdp-runs: mean error"));
  // A growth that nobody explains is not recorded.
  EXPECT_EQ(stepcast_run({"validate", "--set", "fsdp-runs", "--record", file}).code, 1);
  EXPECT_EQ(stepcast_run({"validate", "--set", "fsdp-runs", "--check", file}).code, 1);
}

TEST(Validate, GivesTheSameBytesTwice) {
  const std::vector<std::string> arguments{"validate", "--json"};
  EXPECT_EQ(stepcast_run(arguments).out, stepcast_run(arguments).out);
}

TEST(Validate, NamesColumnsThatItDoesNotRead) {
  const ScratchFolder folder;
  const std::string file = (folder / "mine.csv").string();
  std::ifstream shipped(shipped_csv("megatron-published"));
  std::ofstream mine(file);
  for (std::string line; std::getline(shipped, line);)
    mine << line << (line.starts_with("id,") ? ",data_paralel,colour" : ",1,red") << "\n";
  mine.close();
  const Finished run = stepcast_run({"validate", "--file", file});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("mine.csv: columns that are not read: \"data_paralel\", \"colour\""));
  EXPECT_EQ(stepcast_run({"validate", "--file", file, "--json"}).json()["notes"].size(), 1u);
  EXPECT_FALSE(stepcast_run({"validate", "--json"}).json().contains("notes"));
}

TEST(Validate, RefusesWhatItCannotRead) {
  const Finished unknown = stepcast_run({"validate", "--set", "fsdp-run"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"fsdp-runs\"?"));
  const ScratchFolder folder;
  const std::string file = (folder / "mine.csv").string();
  std::ofstream(file) << "gpus,speed\n8,\"fast\n";
  const Finished broken = stepcast_run({"validate", "--file", file});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("mine.csv:2:3: found a quoted field that does not end"));
  EXPECT_EQ(stepcast_run({"validate", "--file", (folder / "none.csv").string()}).code, 2);
  std::ofstream(file) << "gpu,ranks,nodes,collective,size_bytes,dtype,time_us_out_of_place\n";
  const Finished empty = stepcast_run({"validate", "--file", file});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("mine.csv:1:1: found a header and no rows"));
}

}  // namespace
}  // namespace stepcast::validate_test
