#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checks/measured/measured_results.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::logs_of_other_programs_test {
namespace {

double first(std::string_view text, const std::string& metric) {
  const NamedSeries series = read_plain_log(text);
  const auto found = series.find(metric);
  return found == series.end() ? 0 : found->second.at(0).at(0);
}

TEST(LogsOfOtherPrograms, StepTimesAreFound) {
  EXPECT_DOUBLE_EQ(first("Step Time : 12.78s GPU utilization: 528.1TFLOP/s/GPU", "step_time_s"), 12.78);
  EXPECT_DOUBLE_EQ(first("  1%|▏  | 3/100 [00:10<01:00,  1.25it/s]", "step_time_s"), 0.8);
  EXPECT_DOUBLE_EQ(first("iter 30: loss 3.1, time 340.5ms, mfu 25.2%", "step_time_s"), 0.3405);
  EXPECT_DOUBLE_EQ(
      first("completed step: 3, seconds: 5.125, TFLOP/s/device: 189.5, Tokens/s/device: 4321.5", "step_time_s"), 5.125);
  EXPECT_EQ(first("validation took seconds: 5.125", "step_time_s"), 0);
}

TEST(LogsOfOtherPrograms, FiguresAreFoundByTheirOwnNames) {
  const char* nanotron =
      "iteration: 3 / 100 | consumed_tokens: 1.31M | elapsed_time_per_iteration_ms: 352 | tokens_per_sec: 371K | "
      "tokens_per_sec_per_gpu: 46.4K | global_batch_size: 64 | model_tflops_per_gpu: 231";
  EXPECT_DOUBLE_EQ(first(nanotron, "step_time_s"), 0.352);
  EXPECT_DOUBLE_EQ(first(nanotron, "tokens_per_s_per_gpu"), 46400);
  EXPECT_DOUBLE_EQ(first(nanotron, "model_tflops_per_gpu"), 231);
  EXPECT_DOUBLE_EQ(
      first("completed step: 3, seconds: 5.1, TFLOP/s/device: 189.5, Tokens/s/device: 4321.5", "tokens_per_s_per_gpu"),
      4321.5);
  EXPECT_DOUBLE_EQ(first("-- tflops=171.2,step=3,tgs (tokens/gpu/second)=4104.5,lr=4e-7", "tokens_per_s_per_gpu"),
                   4104.5);
  EXPECT_DOUBLE_EQ(first("    throughput/device/TPS=12,341", "tokens_per_s_per_gpu"), 12341);
  EXPECT_DOUBLE_EQ(first("   Train throughput/device/tokens_per_sec: 12345.5", "tokens_per_s_per_gpu"), 12345.5);
  EXPECT_DOUBLE_EQ(first("| train_inner | loss=10.1, ppl=1100, wps=112345, ups=0.11", "tokens_per_s"), 112345);
}

TEST(LogsOfOtherPrograms, DictionariesOfPythonAreLogs) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder / "trainer.log";
  std::ofstream(file) << "{'loss': 1.2, 'epoch': 0.1}\n"
                         "{'train_runtime': 3600.1, 'train_samples_per_second': 12.5, 'epoch': 1.0}\n";
  const MeasuredResults run = read_measured(file, MeasuredFormat::automatic, {});
  EXPECT_EQ(run.format, MeasuredFormat::log);
  EXPECT_DOUBLE_EQ(run.samples.at("samples_per_s").at(0).at(0), 12.5);
}

// Means of the run so far stand behind a slash.
TEST(LogsOfOtherPrograms, ForksOfMegatronHaveTheirOwnRates) {
  std::set<long> batches;
  const NamedSeries series = read_log(
      " iteration 3/ 50 | elapsed time per iteration (ms): 6151.5/6160.1 | Compute per GPU (TFLOP/s/GPU): 601.5/600.2 "
      "| "
      "tokens per GPU (tokens/s/GPU): 13317.5/13300.1 | global batch size:   512 |",
      MeasuredFormat::megatron, batches);
  EXPECT_DOUBLE_EQ(series.at("step_time_s").at(0).at(0), 6.1515);
  EXPECT_DOUBLE_EQ(series.at("model_tflops_per_gpu").at(0).at(0), 601.5);
  EXPECT_DOUBLE_EQ(series.at("tokens_per_s_per_gpu").at(0).at(0), 13317.5);
}

}  // namespace
}  // namespace stepcast::logs_of_other_programs_test
