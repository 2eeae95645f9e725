#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "checks/measured/measured_results.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::logs_of_other_programs_test {
namespace {

NamedSeries read_text(std::string_view text) {
  std::set<long> batches;
  return read_plain_log(text, batches);
}

double first(std::string_view text, const std::string& metric) {
  const NamedSeries series = read_text(text);
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

// NeMo's and nanotron's lines, but none that tells no step.
TEST(LogsOfOtherPrograms, GlobalBatchesAreThoseOfLinesOfSteps) {
  const auto batches = [](std::string_view text) {
    std::set<long> out;
    read_plain_log(text, out);
    return out;
  };
  EXPECT_EQ(batches("Training epoch 0, iteration 1/99 | lr: 2.999e-07 | global_batch_size: 512 | global_step: 1 | "
                    "train_step_timing in s: 45.41 | consumed_samples: 1024"),
            (std::set<long>{512}));
  EXPECT_EQ(batches("elapsed_time_per_iteration_ms: 352 | global_batch_size: 64 | lr: 1"), (std::set<long>{64}));
  EXPECT_TRUE(batches("elapsed_time_per_iteration_ms: 352 | global_batch_size: 1.02K | lr: 1").empty());
  EXPECT_TRUE(batches("config | global_batch_size: 64 | micro_batch_size: 1").empty());
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

// transformers 5 writes figures as text.
TEST(LogsOfOtherPrograms, TrainersNameTheirRates) {
  EXPECT_DOUBLE_EQ(first("{'train_runtime': '480.5', 'train_samples_per_second': '12.75'}", "samples_per_s"), 12.75);
  EXPECT_DOUBLE_EQ(first("{'loss': 1.1, 'tokens_per_second_per_gpu': 3214.5, 'epoch': 0.1}", "tokens_per_s_per_gpu"),
                   3214.5);
}

TEST(LogsOfOtherPrograms, SpeedsAreTimesOfSteps) {
  EXPECT_DOUBLE_EQ(first("{'loss': 0.4, 'train_speed(iter/s)': 0.02, 'epoch': 0.26}", "step_time_s"), 50);
  EXPECT_DOUBLE_EQ(first("{'loss': 0.4, 'train_speed(s/it)': 7.5, 'epoch': 0.26}", "step_time_s"), 7.5);
  EXPECT_DOUBLE_EQ(
      first("global_step: 110, avg_reader_cost: 0.01 s, avg_batch_cost: 0.18 s, ips: 352 samples/s", "step_time_s"),
      0.18);
  constexpr const char* kPaddle =
      "loss: 11.2, global_step: 1, interval_runtime: 5.6, interval_samples_per_second: 22.8, "
      "interval_tokens_per_second_per_device: 11687.9, interval_steps_per_second: 0.17";
  EXPECT_DOUBLE_EQ(first(kPaddle, "samples_per_s"), 22.8);
  EXPECT_DOUBLE_EQ(first(kPaddle, "tokens_per_s_per_gpu"), 11687.9);
  EXPECT_DOUBLE_EQ(first("Latency: 4.7s, TFLOPs: 9.9, Samples/sec: 1.69, Time/seq 0.6s", "samples_per_s"), 1.69);
}

MeasuredResults measured(const char* name, const std::string& text) {
  const ScratchFolder folder;
  std::ofstream(folder / name, std::ios::binary) << text;
  return read_measured(folder / name, MeasuredFormat::automatic, {});
}

TEST(LogsOfOtherPrograms, BarsOfOtherWorkAreNoSteps) {
  const MeasuredResults run = measured("job.log",
                                       "Fetching 4 files: 100%|####| 4/4 [01:00<00:00, 15.00s/it]\n"
                                       "\rLoading checkpoint shards:  50%|##| 2/4 [00:02<00:02,  1.50s/it]\n"
                                       "  1%|1         | 1/60 [00:02<02:00,  2.10s/it]\r"
                                       "  2%|2         | 2/60 [00:04<02:00,  2.00s/it]\n"
                                       " 10%|1         | 3/30 [00:01<00:03,  8.00it/s]\x1b[A\n"
                                       " 20%|2         | 6/30 [00:01<00:03,  8.00it/s]\x1b[A\n"
                                       " 30%|3         | 9/30 [00:01<00:03,  8.00it/s]\x1b[A\n"
                                       "  3%|3         | 3/60 [00:09<02:00,  2.20s/it]\n");
  EXPECT_EQ(run.samples.at("step_time_s"), (SampleParts{{2.1, 2, 2.2}}));
}

TEST(LogsOfOtherPrograms, TheStateOfATrainerHoldsItsHistory) {
  const MeasuredResults run = measured("trainer_state.json",
                                       R"({"global_step": 20, "log_history": [{"loss": 1.1, "step": 10},
    {"train_runtime": 40.5, "train_samples_per_second": 12.75, "step": 20}], "max_steps": 20})");
  EXPECT_EQ(run.samples.at("samples_per_s"), (SampleParts{{12.75}}));
}

TEST(LogsOfOtherPrograms, LinesOfSwiftTellStepsASecond) {
  const MeasuredResults run =
      measured("logging.jsonl",
               "{\"loss\": 1.5, \"global_step/max_steps\": \"5/500\", \"train_speed(iter/s)\": 0.25}\n"
               "{\"loss\": 1.4, \"global_step/max_steps\": \"10/500\", \"train_speed(iter/s)\": 0.5}\n");
  EXPECT_EQ(run.samples.at("step_time_s"), (SampleParts{{4, 2}}));
}

// 50 s for 10 steps; then an evaluation of 15 s, and 60 s for 10 steps again, over the end of a day.
TEST(LogsOfOtherPrograms, LlamaFactorysTimesAreWithoutEvaluations) {
  const MeasuredResults run = measured(
      "trainer_log.jsonl",
      R"({"current_steps": 10, "loss": 1.5, "elapsed_time": "23:58:00", "throughput": 1575.4, "total_tokens": 1000}
{"current_steps": 20, "loss": 1.4, "elapsed_time": "23:58:50", "throughput": 1590.7, "total_tokens": 2000}
{"current_steps": 20, "eval_loss": 1.3, "elapsed_time": "23:59:05", "throughput": 1388.4, "total_tokens": 2000}
{"current_steps": 30, "loss": 1.3, "elapsed_time": "1 day, 0:00:05", "throughput": 1454.1, "total_tokens": 3500}
)");
  EXPECT_EQ(run.samples.at("step_time_s"), (SampleParts{{5, 6}}));
  EXPECT_EQ(run.samples.at("tokens_per_s"), (SampleParts{{20, 25}}));
  EXPECT_FALSE(run.samples.contains("model_tflops_per_gpu"));
}

// A line whose time is none says nothing, and does not end the stretch that it stands in.
TEST(LogsOfOtherPrograms, LlamaFactorysDamagedTimesDoNotCount) {
  for (const char* time : {"1, 0:00:30", "2 weeks, 0:00:30", "nan day, 0:00:30", "inf:00:30", "0:30", ""}) {
    const MeasuredResults run =
        measured("trainer_log.jsonl", fmt::format(R"({{"current_steps": 10, "elapsed_time": "0:00:00"}}
{{"current_steps": 15, "elapsed_time": "{}"}}
{{"current_steps": 20, "elapsed_time": "0:00:50"}}
)",
                                                  time));
    EXPECT_EQ(run.samples.at("step_time_s"), (SampleParts{{5}})) << time;
  }
}

std::string mllog(double time_ms, const char* key, const char* value, const char* metadata) {
  return fmt::format(
      "0: :::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", \"key\": \"{}\", "
      "\"value\": {}, \"metadata\": {{\"lineno\": 1{}}}}}\n",
      time_ms, key, value, metadata);
}

// 800 samples in 100 s, and after an evaluation 800 in 80 s.
TEST(LogsOfOtherPrograms, BlocksOfMlperfAreRatesOfSamples) {
  const MeasuredResults run =
      measured("result_0.txt", "starting\n" + mllog(1000, "global_batch_size", "8", "") +
                                   mllog(10000, "block_start", "null", ", \"samples_count\": 0") +
                                   mllog(100000, "tracked_stats", "{\"throughput\": 7.5}", "") +
                                   mllog(110000, "block_stop", "null", ", \"samples_count\": 800") +
                                   mllog(150000, "block_start", "null", ", \"samples_count\": 800") +
                                   mllog(230000, "block_stop", "null", ", \"samples_count\": 1600"));
  EXPECT_EQ(run.format, MeasuredFormat::mlperf);
  EXPECT_EQ(run.samples.at("samples_per_s"), (SampleParts{{8, 10}}));
  EXPECT_EQ(run.global_batches, std::set<long>{8});
}

// Older benchmarks count epochs: 4 of 500 samples in 250 s, of which an evaluation took 50. The program's own rate goes
// first.
TEST(LogsOfOtherPrograms, BlocksOfMlperfMayCountEpochs) {
  const std::string block = mllog(1000, "train_samples", "500", "") +
                            mllog(10000, "block_start", "null", ", \"first_epoch_num\": 1, \"epoch_count\": 4") +
                            mllog(210000, "eval_start", "null", "") + mllog(260000, "eval_stop", "null", "") +
                            mllog(260000, "block_stop", "null", ", \"first_epoch_num\": 1");
  EXPECT_EQ(measured("result_1.txt", block).samples.at("samples_per_s"), (SampleParts{{10}}));
  const std::string told = mllog(215000, "tracked_stats", "{\"imgs_sec\": 10.5}", ", \"step\": 3");
  EXPECT_EQ(measured("result_2.txt", block + told).samples.at("samples_per_s"), (SampleParts{{10.5}}));
}

TEST(LogsOfOtherPrograms, BlocksOfMlperfWithoutSamplesAreSaidToBe) {
  const std::string block = mllog(10000, "block_start", "null", ", \"first_epoch_num\": 0, \"epoch_count\": 2") +
                            mllog(119000, "block_stop", "null", ", \"first_epoch_num\": 0");
  try {
    measured("result_3.txt", block);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("count neither samples nor epochs of known length"));
  }
}

// Blocks of GPT-3 count tokens as epochs: 24,576 sequences of 2,048 in 100 s. So does the rate that it tells.
TEST(LogsOfOtherPrograms, BlocksOfGpt3CountTokens) {
  const std::string begun = mllog(10000, "block_start", "null", ", \"first_epoch_num\": 0, \"epoch_count\": 50331648"),
                    told = mllog(15000, "tracked_stats", "{\"throughput\": 500000.0}", ", \"step\": 50331648"),
                    ended = mllog(110000, "block_stop", "null", ", \"first_epoch_num\": 0");
  const MeasuredResults whole = measured("result_5.txt", begun + told + ended);
  EXPECT_EQ(whole.samples.at("tokens_per_s"), (SampleParts{{503316.48}}));
  EXPECT_FALSE(whole.samples.contains("samples_per_s"));
  const MeasuredResults cut = measured("result_6.txt", begun + told);
  EXPECT_EQ(cut.samples.at("tokens_per_s"), (SampleParts{{500000}}));
  EXPECT_FALSE(cut.samples.contains("samples_per_s"));
}

// Of LLMs in it each step has a time.
TEST(LogsOfOtherPrograms, StatisticsOfMlperfTellStepsToo) {
  const MeasuredResults run = measured(
      "result_4.txt", mllog(1000, "tracked_stats", "{\"train_step_time\": 2.5, \"reduced_train_loss\": 3.1}", "") +
                          mllog(2000, "tracked_stats", "{\"train_step_time\": 2.25}", ""));
  EXPECT_EQ(run.samples.at("step_time_s"), (SampleParts{{2.5, 2.25}}));
}

TEST(LogsOfOtherPrograms, TrainersOfImagesTellTheirSteps) {
  const char* timm =
      "Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.412s, 2485.44/s  (0.420s, 2438.10/s)  LR: 1.0e-05";
  EXPECT_DOUBLE_EQ(first(timm, "step_time_s"), 0.412);
  EXPECT_DOUBLE_EQ(first(timm, "samples_per_s"), 2485.44);
  EXPECT_DOUBLE_EQ(
      first("Epoch: [0][  10/5005]\tTime  0.412 ( 0.520)\tData  0.010 ( 0.100)\tLoss 7.0e+00", "step_time_s"), 0.412);
  const char* torchvision =
      "Epoch: [0]  [  10/40037]  eta: 1 day, 2:03:04  lr: 0.1  img/s: 245.5  loss: 6.9 (7.0)  time: 0.412  data: 0.001 "
      " max mem: 4000";
  EXPECT_DOUBLE_EQ(first(torchvision, "step_time_s"), 0.412);
  EXPECT_DOUBLE_EQ(first(torchvision, "samples_per_s_per_device"), 245.5);
  EXPECT_DOUBLE_EQ(
      first("eta: 1:02:03  iter: 19  total_loss: 2.3  time: 0.412  last_time: 0.405  data_time: 0.011  lr: 0.01",
            "step_time_s"),
      0.412);
  EXPECT_DOUBLE_EQ(
      first("Epoch(train)  [1][  50/7330]  lr: 1.0e-02  eta: 10:00:00  time: 0.412  data_time: 0.011", "step_time_s"),
      0.412);
  for (const char* evaluation : {"Epoch(val) [1][ 50/5000]  eta: 0:01:00  time: 0.1  data_time: 0.01",
                                 "Test:  [  10/400]  eta: 0:03:04  loss: 6.9  time: 0.112  data: 0.001",
                                 "Test: [ 10/196]\tTime  0.112 ( 0.120)"})
    EXPECT_EQ(first(evaluation, "step_time_s"), 0) << evaluation;
}

TEST(LogsOfOtherPrograms, MxnetsSpeedsAreRates) {
  EXPECT_DOUBLE_EQ(first("INFO:root:Epoch[0] Batch [0-20]\tSpeed: 1234.5 samples/sec\taccuracy=0.1", "samples_per_s"),
                   1234.5);
  EXPECT_DOUBLE_EQ(first("05:58:36,128 Epoch[9] Batch [50]\tSpeed: 1067.5 samples/sec\taccuracy=0.8", "samples_per_s"),
                   1067.5);
  const MeasuredResults run =
      measured("rank0.log", "Epoch[0] Rank[0] Batch[20]\tSpeed: 300.5 samples/sec\taccuracy=0.1\n");
  EXPECT_EQ(run.samples_per_s_per_device, (SampleParts{{300.5}}));
  EXPECT_TRUE(run.samples.empty());
}

TEST(LogsOfOtherPrograms, TensorflowsRates) {
  EXPECT_DOUBLE_EQ(first("INFO:tensorflow:global_step/sec: 4.0", "step_time_s"), 0.25);
  EXPECT_DOUBLE_EQ(first("I1120 10:00:00.1 tpu_estimator.py:2160] examples/sec: 512.5", "samples_per_s"), 512.5);
  EXPECT_DOUBLE_EQ(first("Img/sec per GPU: 310.5 +-2.1", "samples_per_s_per_device"), 310.5);
  const std::string steps =
      "1\timages/sec: 123.5 +/- 0.0 (jitter = 0.0)\t7.9\n10\timages/sec: 125.5 +/- 0.3 (jitter = 0.6)\t7.8\n";
  EXPECT_EQ(read_text(steps).at("samples_per_s"), (SampleParts{{123.5, 125.5}}));
  EXPECT_EQ(read_text(steps + "total images/sec: 125.25\n").at("samples_per_s"), (SampleParts{{125.25}}));
  // Each step's rate is of one worker there.
  EXPECT_TRUE(read_text("Devices:     ['horovod/gpu:0']\n" + steps).empty());
}

TEST(LogsOfOtherPrograms, ATrainersLastBlockHasItsRates) {
  EXPECT_EQ(read_text("***** train metrics *****\n  epoch                    =        3.0\n"
                      "  train_samples_per_second =     40.5\n  train_steps_per_second   =      0.63\n")
                .at("samples_per_s"),
            (SampleParts{{40.5}}));
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
