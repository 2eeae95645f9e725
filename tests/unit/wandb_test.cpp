#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "checks/measured/measured_results.hpp"

namespace stepcast::wandb_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Wandb : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "files"); }
  void TearDown() override { fs::remove_all(folder_); }

  MeasuredResults read(const std::string& name, const std::string& text, const std::vector<SeriesName>& names = {}) {
    std::ofstream(folder_ / name) << text;
    return read_measured(folder_ / name, MeasuredFormat::automatic, names);
  }
  static std::string notes_of(const MeasuredResults& run) { return Json(run.notes).dump(); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("wandb-" + std::to_string(::getpid()));
};

constexpr const char* kChart =
    "\"Step\",\"llama-8b - _step\",\"llama-8b - train/tokens_per_sec\",\"llama-8b - train/tokens_per_sec__MIN\","
    "\"llama-8b - train/tokens_per_sec__MAX\"\n"
    "1,1,80000,70000,90000\n2,2,,,\n3,3,100000,99000,101000\n";

TEST_F(Wandb, AChartNamesTheRunBeforeTheMetric) {
  const MeasuredResults run = read("chart.csv", kChart);
  ASSERT_EQ(run.samples.count("tokens_per_s"), 1U);
  EXPECT_THAT(run.samples.at("tokens_per_s"), ElementsAre(ElementsAre(80000, 100000)));
  EXPECT_THAT(notes_of(run), Not(HasSubstr("do not count")));
}

TEST_F(Wandb, RunsOfAChartArePartsOfTheirOwn) {
  const std::string chart =
      "Step,\"a - perf/step_time_ms\",\"b - perf/step_time_ms\"\n1,500,\n2,,700\n3,510,\n4,,710\n";
  const MeasuredResults both = read("chart.csv", chart);
  ASSERT_EQ(both.samples.at("step_time_s").size(), 2U);
  EXPECT_THAT(notes_of(both), HasSubstr("2 runs count together (a, b)"));
  const MeasuredResults one = read("chart.csv", chart, {{"step_time_s", "b - perf/step_time_ms", 1e-3}});
  ASSERT_EQ(one.samples.at("step_time_s").size(), 1U);
  EXPECT_DOUBLE_EQ(one.samples.at("step_time_s")[0][0], 0.7);
}

TEST_F(Wandb, SummaryAndHistory) {
  const MeasuredResults summary = read("wandb-summary.json",
                                       R"({"_step": 400, "_runtime": 3600.5, "_wandb": {"runtime": 3600},
      "train/loss": NaN, "perf/mfu": 41.5, "train/tokens_per_second_per_gpu": {"mean": 1250.5, "max": 1300}})");
  EXPECT_NEAR(summary.samples.at("mfu")[0][0], 0.415, 1e-12);
  EXPECT_THAT(summary.samples.at("tokens_per_s_per_gpu"), ElementsAre(ElementsAre(1250.5)));
  const MeasuredResults history = read(
      "files/wandb-history.jsonl",
      "{\"_step\": 0, \"train/step_time\": 1.5, \"loss\": NaN}\n{\"_step\": 1, \"train/step_time\": 1.25}\n{\"_st");
  EXPECT_THAT(history.samples.at("step_time_s"), ElementsAre(ElementsAre(1.5, 1.25)));
  EXPECT_THAT(notes_of(history), HasSubstr("the last line is cut"));
}

TEST_F(Wandb, TheFolderOfARun) {
  std::ofstream(folder_ / "files" / "wandb-summary.json") << R"({"throughput/device/tokens_per_sec": 1200})";
  const MeasuredResults run = read_measured(folder_, MeasuredFormat::automatic, {});
  EXPECT_THAT(run.samples.at("tokens_per_s_per_gpu"), ElementsAre(ElementsAre(1200)));
}

TEST_F(Wandb, GroupsOfEvaluationAreOthers) {
  EXPECT_THROW(read("h.jsonl", "{\"eval/step_time\": 1.5}\n{\"eval/step_time\": 1.25}\n"), InputError);
  EXPECT_THROW(read("t.json", "{\"train/throughput\": 1.5}"), InputError);
}

TEST_F(Wandb, AnotherTableIsNoChart) {
  const MeasuredResults run = read("runs.csv", "Name,Notes,tokens_per_sec\nfirst,a - b,1000\n");
  EXPECT_THAT(run.samples.at("tokens_per_s"), ElementsAre(ElementsAre(1000)));
}

}  // namespace
}  // namespace stepcast::wandb_test
