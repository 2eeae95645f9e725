// Sources of measured results, baselines, verdicts and their formats.
#include <gmock/gmock.h>

#include <cmath>

#include "calibration/validation/statistics.hpp"
#include "checks/check_metric.hpp"
#include "checks/check_report.hpp"
#include "checks/measured/measured_step.hpp"
#include "checks/prometheus_text.hpp"
#include "report/predict.hpp"
#include "tests/e2e/process.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::check_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string kFolder = STEPCAST_SOURCE_DIR "/tests/data/measured/";

MeasuredResults measured(const std::filesystem::path& file, const std::vector<SeriesName>& names = {}) {
  return read_measured(file, MeasuredFormat::automatic, names);
}

/// All samples of a metric.
std::vector<double> samples_of(const MeasuredResults& run, const std::string& metric) {
  return after_warmup(run.samples.at(metric), 0);
}

/// What is said of a file that cannot be read.
std::string refusal(const std::filesystem::path& file, const std::vector<SeriesName>& names = {}) {
  try {
    measured(file, names);
  } catch (const InputError& error) {
    return error.what();
  }
  return "was read";
}

TEST(Measured, LogOfMegatronIsReadByItself) {
  const MeasuredResults run = measured(kFolder + "megatron.log");
  EXPECT_EQ(run.format, MeasuredFormat::megatron);
  ASSERT_THAT(samples_of(run, "step_time_s"), SizeIs(8));
  EXPECT_DOUBLE_EQ(samples_of(run, "step_time_s")[1], 23.5104);
  EXPECT_NEAR(samples_of(run, "model_tflops_per_gpu")[1], 141.1, 0.05);
}

TEST(Measured, LogOfDeepSpeedGivesTheCurrentThroughput) {
  const MeasuredResults run = measured(kFolder + "deepspeed.log");
  EXPECT_EQ(run.format, MeasuredFormat::deepspeed);
  EXPECT_DOUBLE_EQ(samples_of(run, "samples_per_s").front(), 33.51);
  EXPECT_DOUBLE_EQ(samples_of(run, "memory.peak_GiB").front(), 21.4);
}

TEST(Measured, LogOfTorchtitanIsReadThroughItsColours) {
  const MeasuredResults run = measured(kFolder + "torchtitan.log");
  EXPECT_EQ(run.format, MeasuredFormat::torchtitan);
  EXPECT_THAT(samples_of(run, "tokens_per_s_per_gpu"), ElementsAre(3410, 3420, 3430, 3440, 3450, 3460));
  EXPECT_DOUBLE_EQ(samples_of(run, "mfu").front(), 0.2034);
  EXPECT_DOUBLE_EQ(samples_of(run, "memory.peak_GiB").front(), 47.28);
}

TEST(Measured, EventsOfTensorBoardAreRead) {
  const MeasuredResults run = measured(kFolder + "events.out.tfevents.torchtitan");
  EXPECT_EQ(run.format, MeasuredFormat::tensorboard);
  ASSERT_THAT(samples_of(run, "tokens_per_s_per_gpu"), SizeIs(8));
  EXPECT_EQ(samples_of(run, "tokens_per_s_per_gpu").back(), 3470);
}

TEST(Measured, RunOfMlflowAndAnswerOfPrometheusAreRead) {
  const MeasuredResults mlflow = measured(kFolder + "mlflow-run");
  EXPECT_EQ(mlflow.format, MeasuredFormat::mlflow);
  EXPECT_THAT(samples_of(mlflow, "samples_per_s"), SizeIs(6));
  const MeasuredResults prometheus = measured(kFolder + "prometheus.json");
  EXPECT_EQ(prometheus.format, MeasuredFormat::prometheus);
  EXPECT_THAT(samples_of(prometheus, "step_time_s"), ElementsAre(2.41, 2.39, 2.40)) << "NaN is no sample";
}

TEST(Measured, TablesTakeTheSeriesThatIsNamed) {
  const ScratchFolder folder;
  write_file(folder / "a.csv", "step,took,who\n1,1200,x\n2,1100,y\n");
  write_file(folder / "a.jsonl", "{\"step_time_s\": 1.5}\n{\"step_time_s\": 1.4}\n");
  Diagnostics diagnostics("");
  const auto names = parse_series_names({"step_time_s=took*0.001"}, diagnostics);
  ASSERT_TRUE(diagnostics.ok());
  EXPECT_THAT(samples_of(measured(folder / "a.csv", names), "step_time_s"), ElementsAre(1.2, 1.1));
  EXPECT_THAT(samples_of(measured(folder / "a.jsonl"), "step_time_s"), ElementsAre(1.5, 1.4));
  try {
    measured(folder / "a.csv");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--series"));
  }
}

TEST(Measured, DamagedFilesNeverCrash) {
  const ScratchFolder folder;
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525U + 1013904223U; };
  for (const char* name :
       {"megatron.log", "deepspeed.log", "torchtitan.log", "prometheus.json", "events.out.tfevents.torchtitan"}) {
    const std::string sound = read_text(kFolder + name);
    for (int i = 0; i < 300; ++i) {
      std::string bytes = sound;
      for (int k = 0; k < 5; ++k) bytes[(next() >> 4) % bytes.size()] = static_cast<char>(next() >> 24);
      if (i % 2 == 0) bytes.resize((next() >> 4) % bytes.size());
      std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << bytes;
      try {
        for (const auto& [metric, parts] : measured(folder / name).samples)
          for (const double sample : after_warmup(parts, 0)) ASSERT_TRUE(std::isfinite(sample) && sample > 0);
      } catch (const InputError&) {
        // said what is wrong
      }
    }
  }
}

TEST(Measured, AFlippedBitOfAnEventFileIsFound) {
  const ScratchFolder folder;
  std::string bytes = read_text(kFolder + "events.out.tfevents.torchtitan");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(folder / "events.out.tfevents.x", std::ios::binary) << bytes;
  EXPECT_THROW(measured(folder / "events.out.tfevents.x"), InputError);
}

TEST(Measured, WarmUpIsATenthAndAtLeastTheFirstOfThree) {
  EXPECT_THAT(after_warmup(std::vector<double>{9, 1, 1}, std::nullopt), ElementsAre(1, 1));
  EXPECT_THAT(after_warmup(std::vector<double>{9, 1}, std::nullopt), ElementsAre(9, 1));
  EXPECT_THAT(after_warmup(std::vector<double>(40, 1.0), std::nullopt), SizeIs(36));
  EXPECT_THAT(after_warmup(std::vector<double>{9, 1, 1}, 0), SizeIs(3));
  EXPECT_THAT(after_warmup(std::vector<double>{9, 1, 1}, 7), SizeIs(0));
}

// Each rank of a Prometheus query warms up by itself.
TEST(Measured, WarmUpIsOfEachSeries) {
  const ScratchFolder folder;
  Json result = Json::array();
  for (const char* rank : {"0", "1"}) {
    Json values = Json::array();
    for (int i = 0; i < 14; ++i) values.push_back({1700000000 + i, i < 10 ? "60" : "5.8"});
    result.push_back({{"metric", {{"__name__", "step_time_s"}, {"rank", rank}}}, {"values", values}});
  }
  write_file(folder / "p.json",
             Json{{"status", "success"}, {"data", {{"resultType", "matrix"}, {"result", result}}}}.dump());
  const MeasuredResults run = measured(folder / "p.json");
  EXPECT_THAT(run.samples.at("step_time_s"), SizeIs(2));
  EXPECT_THAT(after_warmup(run.samples.at("step_time_s"), 10), testing::Each(5.8));
  EXPECT_THAT(after_warmup(run.samples.at("step_time_s"), 10), SizeIs(8));
}

TEST(Measured, WhatDoesNotCountIsSaid) {
  const ScratchFolder folder;
  write_file(folder / "some.csv", "step,step_time_s\n1,5.8\n2,nan\n3,\n4,0\n5,5.9\n");
  const MeasuredResults run = measured(folder / "some.csv");
  EXPECT_THAT(samples_of(run, "step_time_s"), ElementsAre(5.8, 5.9));
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("3 of 5 samples")));
  write_file(folder / "none.csv", "step,step_time_s\n1,0\n2,-5.8\n3,nan\n");
  for (const std::string& said :
       {refusal(folder / "none.csv"), refusal(folder / "none.csv", {{"step_time_s", "step_time_s"}})}) {
    EXPECT_THAT(said, HasSubstr("\"step_time_s\" holds no number above 0: 2 of its 3 samples are 0 or less, 1 are no"));
    EXPECT_THAT(said, Not(HasSubstr("expected one of")));
  }
}

TEST(Measured, PrometheusOwnErrorIsTold) {
  const ScratchFolder folder;
  write_file(folder / "p.json", R"({"status": "error", "errorType": "bad_data", "error": "parse error at char 5"})");
  EXPECT_THAT(refusal(folder / "p.json"), HasSubstr("bad_data: parse error at char 5"));
}

TEST(Measured, OtherProgramsLogsTellStepTimes) {
  const ScratchFolder folder;
  write_file(folder / "a.log", "loss 3\nstep_time: 5.8\niteration_time_ms=5900\nstep time = 6000 ms\n 6.5s/it\n");
  const MeasuredResults run = measured(folder / "a.log");
  EXPECT_EQ(run.format, MeasuredFormat::log);
  EXPECT_THAT(samples_of(run, "step_time_s"), ElementsAre(5.8, 5.9, 6.0));
}

/// Step times of a log with these lines.
std::vector<double> step_times(const std::string& lines) {
  const ScratchFolder folder;
  write_file(folder / "a.log", lines + "\n");
  return samples_of(measured(folder / "a.log"), "step_time_s");
}

TEST(Measured, NumbersOfOtherLogsAreReadWhole) {
  EXPECT_THAT(step_times("step_time=3.08E+01"), ElementsAre(30.8));
  EXPECT_THAT(step_times("step time: 1,234.5 ms"), ElementsAre(1.2345));
  EXPECT_THAT(step_times("iter_time: 12,345 ms, loss 3"), ElementsAre(12.345));
  EXPECT_THAT(step_times("iteration time: 30832 milliseconds"), ElementsAre(30.832));
  EXPECT_THAT(step_times("step_time: 0.5 min"), ElementsAre(30));
  EXPECT_THAT(step_times("step time: 1h"), ElementsAre(3600));
  EXPECT_THAT(step_times("step_time_ms: 5900 | loss 2"), ElementsAre(5.9));
  EXPECT_THAT(step_times("iter time (s): 6."), ElementsAre(6));
  EXPECT_THAT(step_times("\x1b[31mstep_time: 2 \x1b[0mloss 3"), ElementsAre(2));
}

TEST(Measured, OnlyStepsOfTrainingCount) {
  EXPECT_THAT(step_times("data_step_time=0.1 step_time=30.8"), ElementsAre(30.8));
  EXPECT_THAT(step_times("step_time=30.8\niter 5: eval_iter_time: 1.0\nvalidation step time: 2"), ElementsAre(30.8));
  EXPECT_THAT(step_times("train_step_time=30.8"), ElementsAre(30.8));
  const ScratchFolder folder;
  write_file(folder / "t.log",
             "[titan] step: 10  loss: 6.9  memory: 47.28GiB(59.77%)  tps: 3,410  mfu: 20.34%\n"
             "[titan] validate step: 10  loss: 6.8  memory: 40.00GiB(50.00%)  tps: 2,400\n");
  const MeasuredResults run = measured(folder / "t.log");
  EXPECT_EQ(run.format, MeasuredFormat::torchtitan);
  EXPECT_THAT(samples_of(run, "tokens_per_s_per_gpu"), ElementsAre(3410));
}

// A unit that contradicts the name, one of which nobody knows what it is, a clock, a rate of something else.
TEST(Measured, WhatMayBeAnotherNumberIsNone) {
  const ScratchFolder folder;
  for (const char* line : {"step_time_ms: 30 s", "step_time: 30furlongs", "step_time: 30m", "step time: 0:01:30",
                           "step_time: 0.5 ms/token", "step_time: 5/100", "step_timeout: 30", "step_time: 1,5"}) {
    write_file(folder / "a.log", std::string(line) + "\n");
    EXPECT_THAT(refusal(folder / "a.log"), HasSubstr("none of the kinds")) << line;
  }
}

TEST(Measured, LogsThatBeginWithABracketAreNoJson) {
  const ScratchFolder folder;
  const auto rates = [&](const char* text, const char* metric) {
    write_file(folder / "a.log", text);
    const MeasuredResults run = measured(folder / "a.log");
    return std::pair{run.format, samples_of(run, metric)};
  };
  const auto [format, samples] = rates(
      "[2021-05-01 12:00:00,123] [INFO] [timer.py:157:stop] 0/1, SamplesPerSec=51.0\n"
      "[2021-05-01 12:00:01,123] [INFO] [timer.py:157:stop] 0/2, SamplesPerSec=51.5\n",
      "samples_per_s");
  EXPECT_EQ(format, MeasuredFormat::deepspeed);
  EXPECT_THAT(samples, ElementsAre(51, 51.5));
  const auto [pipeline, times] = rates(
      "[2023-05-01 12:00:00,123] [INFO] [engine.py] started\n"
      "steps: 10 loss: 2.3456 iter time (s): 1.234 samples/sec: 25.932\n",
      "step_time_s");
  EXPECT_EQ(pipeline, MeasuredFormat::deepspeed);
  EXPECT_THAT(times, ElementsAre(1.234));
  EXPECT_EQ(rates("[NeMo I 2024-01-01 nemo] train_step_timing in s=30.8\n", "step_time_s").second,
            std::vector<double>{30.8});
}

// Megatron-DeepSpeed prints the pipeline engine's lines before its own, which tell more.
TEST(Measured, MegatronsLinesComeBeforeThePipelineEngines) {
  const ScratchFolder folder;
  write_file(folder / "a.log",
             "steps: 1 loss: 2.3 iter time (s): 9.0 samples/sec: 25.9\n" + read_text(kFolder + "megatron.log"));
  EXPECT_EQ(measured(folder / "a.log").format, MeasuredFormat::megatron);
}

TEST(Measured, SamplesOfADeviceAreCountedForAll) {
  const ScratchFolder folder;
  write_file(folder / "a.csv", "device/samples_per_sec\n2\n3\n");
  MeasuredResults run = measured(folder / "a.csv");
  count_devices(run, 16);
  EXPECT_THAT(samples_of(run, "samples_per_s"), ElementsAre(32, 48));
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("each device × 16 devices")));
  write_file(folder / "b.csv", "device/samples_per_sec,samples_per_sec\n2,30\n3,45\n");
  run = measured(folder / "b.csv");
  count_devices(run, 16);
  EXPECT_THAT(samples_of(run, "samples_per_s"), ElementsAre(30, 45));
}

// include_tokens_per_second counts a device's own batches, include_num_input_tokens_seen those of all, under one name.
TEST(Measured, TheTrainersTokensAreOfADeviceOrOfAllAsItsSamplesTell) {
  const ScratchFolder folder;
  const auto settled = [&](const std::string& name, const std::string& text) {
    write_file(folder / name, text);
    MeasuredResults run = measured(folder / name);
    settle_tokens(run, 4096, 8, name);
    return run;
  };
  const std::string end = "{'train_runtime': 250.0, 'train_samples_per_second': 12.8, 'train_tokens_per_second': ";
  MeasuredResults run = settled("a.log", end + "6553.6}\n");
  EXPECT_THAT(samples_of(run, "tokens_per_s_per_gpu"), ElementsAre(6553.6));
  EXPECT_FALSE(run.samples.contains("tokens_per_s"));
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("of each device")));
  run = settled("b.log", end + "52428.8}\n");
  EXPECT_THAT(samples_of(run, "tokens_per_s"), ElementsAre(52428.8));
  run = settled("c.log", "{'loss': 1.5, 'num_input_tokens_seen': 4096000}\n" + end + "6553.6}\n");
  EXPECT_THAT(samples_of(run, "tokens_per_s"), ElementsAre(6553.6)) << "short sequences, gathered";
  run = settled("d.csv", "step_time_s,train_tokens_per_second\n2,6553.6\n");
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("may be of one device or of all")));
  EXPECT_FALSE(run.samples.contains("tokens_per_s"));
  EXPECT_THROW(settled("e.csv", "train_tokens_per_second\n6553.6\n"), InputError);
  run =
      read_measured(folder / "e.csv", MeasuredFormat::automatic, {{"tokens_per_s_per_gpu", "train_tokens_per_second"}});
  settle_tokens(run, 4096, 8, "e.csv");
  EXPECT_THAT(samples_of(run, "tokens_per_s_per_gpu"), ElementsAre(6553.6));
  EXPECT_EQ(run.samples.size(), 1U);
}

TEST(Measured, OfSeveralSeriesOfAMetricOneCountsAndTheOthersAreNamed) {
  const ScratchFolder folder;
  write_file(folder / "a.csv", "step_time_s,step_time_ms\n2,3000\n");
  const MeasuredResults run = measured(folder / "a.csv");
  EXPECT_THAT(samples_of(run, "step_time_s"), ElementsAre(2));
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("\"step_time_ms\" does not count")));
  Diagnostics twice("");
  parse_series_names({"step_time_s=a", "step_time_s=b"}, twice);
  EXPECT_THAT(twice.faults().front().message, HasSubstr("has a series already"));
  Diagnostics tolerances("");
  parse_tolerances({"mfu=5", "mfu=6"}, {"mfu"}, tolerances);
  EXPECT_THAT(tolerances.faults().front().message, HasSubstr("has a tolerance already"));
}

// Jobs write their columns as people write, with the unit in brackets, or within an object of JSON.
TEST(Measured, ColumnsMayNameTheirUnitsAsPeopleDo) {
  const ScratchFolder folder;
  const auto of = [&](const std::string& header, const char* metric, const char* value) {
    write_file(folder / "a.csv", "step," + header + "\n0," + value + "\n");
    try {
      const MeasuredResults run = measured(folder / "a.csv");
      const SampleParts parts =
          run.samples_per_s_per_device.empty() ? run.samples.at(metric) : run.samples_per_s_per_device;
      return after_warmup(parts, 0).front();
    } catch (const std::exception& error) {
      ADD_FAILURE() << header << ": " << error.what();
      return 0.0;
    }
  };
  for (const char* header : {"step time (s)", "Step Time [sec]", "iteration time", "seconds_per_step",
                             "train_iter_time_s", "perf/step_time", "time_per_step"})
    EXPECT_DOUBLE_EQ(of(header, "step_time_s", "15.6"), 15.6) << header;
  for (const char* header : {"Iteration time (ms)", "step_time_ms", "step_time(ms)", "ms/step", "iter-time (msec)"})
    EXPECT_DOUBLE_EQ(of(header, "step_time_s", "15600"), 15.6) << header;
  EXPECT_DOUBLE_EQ(of("step time (min)", "step_time_s", "2"), 120);
  for (const char* header : {"images_per_sec", "img/s", "Images/sec", "sequences_per_second", "throughput (samples/s)"})
    EXPECT_DOUBLE_EQ(of(header, "samples_per_s", "55"), 55) << header;
  for (const char* header : {"tokens/sec/gpu", "tokens_per_gpu_per_second", "tokens per second per device"})
    EXPECT_DOUBLE_EQ(of(header, "tokens_per_s_per_gpu", "1054"), 1054) << header;
  EXPECT_DOUBLE_EQ(of("images/s/gpu", "", "55"), 55);
  write_file(folder / "a.json", R"([{"step": 0, "metrics": {"step_time": 15.6}}])");
  EXPECT_THAT(samples_of(measured(folder / "a.json"), "step_time_s"), ElementsAre(15.6));
  for (const char* header : {"step_time_min", "eval step time (s)", "step time (%)", "data_time"}) {
    write_file(folder / "a.csv", std::string("step,") + header + "\n0,15\n");
    EXPECT_THAT(refusal(folder / "a.csv"), HasSubstr("holds no series under a name that is known")) << header;
  }
}

// Megatron-LM's is TFLOP/s of a GPU; of 540,000 a step nobody can mean that.
TEST(Measured, ABareThroughputMayBeTwoThings) {
  const ScratchFolder folder;
  write_file(folder / "a.csv", "step,throughput\n0,540000\n");
  EXPECT_THAT(refusal(folder / "a.csv"), HasSubstr("--series tokens_per_s=throughput"));
  EXPECT_THAT(samples_of(measured(folder / "a.csv", {{"tokens_per_s", "throughput", 1}}), "tokens_per_s"),
              ElementsAre(540000));
  write_file(folder / "b.csv", "step,step_time_s,throughput\n0,15.6,540000\n");
  const MeasuredResults beside = measured(folder / "b.csv");
  EXPECT_FALSE(beside.samples.contains("model_tflops_per_gpu"));
  EXPECT_THAT(beside.notes, testing::Contains(HasSubstr("does not count")));
  write_file(folder / "m.csv", "iteration-time,throughput\n15.6,474\n");
  EXPECT_THAT(samples_of(measured(folder / "m.csv"), "model_tflops_per_gpu"), ElementsAre(474));
}

TEST(Measured, TablesOfOtherSeparatorsAreOneFault) {
  const ScratchFolder folder;
  write_file(folder / "a.csv", "step;step_time_s\n1;0,5\n2;0,6\n3;0,7\n");
  const std::string said = refusal(folder / "a.csv");
  EXPECT_THAT(said, HasSubstr("separated by semicolons, expected commas"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 0) << said;
}

// Steps of another batch take another time: neither a check nor a fit may compare them.
TEST(Measured, TheLogsBatchIsTheScenarios) {
  const MeasuredResults run = measured(kFolder + "megatron.log");
  EXPECT_THAT(run.global_batches, ElementsAre(1536));
  EXPECT_NO_THROW(require_batch(run, 1536, "m.log", "s.json"));
  EXPECT_NO_THROW(require_batch(measured(kFolder + "deepspeed.log"), 1, "d.log", "s.json")) << "names none";
  try {
    require_batch(run, 256, "m.log", "s.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "m.log: its steps have a global batch of 1536, and that of s.json is 256; --set "
                 "workload.global_batch=1536, or the log of steps of 256");
  }
}

TEST(Measured, EveryLogGivesAStepOfTheScenario) {
  const Scenario scenario = load_scenario(scenario_file("gpt3-175b-a100-1024"), {}, test::catalog());
  const auto step = [&](const char* log) { return measured_step(measured(kFolder + log), scenario)->value(); };
  EXPECT_NEAR(step("megatron.log"), 23.5, 0.5);
  const double rate =
      *quantile(after_warmup(measured(kFolder + "torchtitan.log").samples.at("tokens_per_s_per_gpu"), 3), 0.5);
  EXPECT_DOUBLE_EQ(step("torchtitan.log"), 1536.0 * 2048 / 1024 / rate);
  const double samples = samples_of(measured(kFolder + "deepspeed.log"), "samples_per_s").back();
  EXPECT_NEAR(step("deepspeed.log"), 1536 / samples, 0.1 * 1536 / samples);
}

const Prediction& prediction() {
  const Catalog& catalog = test::catalog();
  static const Prediction out =
      predict_analytic(load_scenario(scenario_file("gpt3-175b-a100-1024"), {}, catalog), catalog);
  return out;
}

const MetricCheck& metric(const ScenarioCheck& check, std::string_view name) {
  for (const MetricCheck& one : check.metrics)
    if (one.name == name) return one;
  throw std::runtime_error(std::string(name));
}

TEST(CheckBaseline, ThroughputGatesAndStepTimeIsShown) {
  const BaselineEntry same = baseline_entry(prediction());
  const ScenarioCheck unchanged = check_against_baseline("a", prediction(), same, {}, {});
  EXPECT_TRUE(unchanged.passed());
  for (const MetricCheck& one : unchanged.metrics) EXPECT_EQ(one.verdict, Verdict::unchanged) << one.name;
  BaselineEntry faster = same;
  faster.metrics["step_time_s"] /= 1.5;
  EXPECT_TRUE(check_against_baseline("a", prediction(), faster, {}, {}).passed());
  EXPECT_FALSE(check_against_baseline("a", prediction(), faster, {{"step_time_s", 2}}, {}).passed());
  faster = same;
  faster.metrics["tokens_per_s"] *= 1.02;
  EXPECT_FALSE(check_against_baseline("a", prediction(), faster, {}, {}).passed());
  EXPECT_TRUE(check_against_baseline("a", prediction(), faster, {{"tokens_per_s", 1}}, {{"tokens_per_s", 3}}).passed());
  faster.metrics["tokens_per_s"] = same.metrics.at("tokens_per_s") / 1.02;
  EXPECT_EQ(metric(check_against_baseline("a", prediction(), faster, {}, {}), "tokens_per_s").verdict,
            Verdict::improved);
}

TEST(CheckBaseline, IsTheSameTextWhenWrittenReadAndWrittenAgain) {
  const ScratchFolder folder;
  Baseline baseline;
  baseline.tolerances["tokens_per_s"] = 2;
  baseline.scenarios["scenarios/a.json"] = baseline_entry(prediction());
  write_baseline(folder / "a.json", baseline);
  write_baseline(folder / "b.json", read_baseline(folder / "a.json"));
  EXPECT_EQ(read_text(folder / "a.json"), read_text(folder / "b.json"));
  write_file(folder / "c.json", R"({"format_version":1,"scenarios":{},"tolerances_percent":{"tokens":1}})");
  EXPECT_THROW(read_baseline(folder / "c.json"), InputError);
  write_file(folder / "d.json", R"({"format_version":2,"scenarios":{}})");
  EXPECT_THROW(read_baseline(folder / "d.json"), InputError);
}

// Nothing compared is nothing guarded, and a change is a ratio to what was accepted.
TEST(CheckBaseline, MustGuardSomething) {
  const ScratchFolder folder;
  Baseline baseline;
  EXPECT_THROW(require_guards(baseline, "a.json"), InputError);
  BaselineEntry& entry = baseline.scenarios["a.json"] = baseline_entry(prediction());
  EXPECT_NO_THROW(require_guards(baseline, "a.json"));
  const auto metrics = entry.metrics;
  entry.metrics = {{"mfu", 0.4}};
  EXPECT_THROW(require_guards(baseline, "a.json"), InputError);
  baseline.tolerances["mfu"] = 2;
  EXPECT_NO_THROW(require_guards(baseline, "a.json"));
  entry.metrics = metrics;
  for (const double value : {1e-300, 0.0, -5.0}) {
    entry.metrics["tokens_per_s"] = value;
    write_baseline(folder / "f.json", baseline);
    EXPECT_THROW(read_baseline(folder / "f.json"), InputError) << value;
  }
}

// A name that nobody compares would pass every check.
TEST(CheckBaseline, NamesThatNothingHasAreRefused) {
  const ScratchFolder folder;
  const auto faults = [&](const char* fidelity, const char* metric) -> std::string {
    Baseline baseline;
    BaselineEntry& entry = baseline.scenarios["a.json"] = baseline_entry(prediction());
    entry.fidelity = fidelity;
    entry.metrics[metric] = 1;
    write_baseline(folder / "e.json", baseline);
    try {
      read_baseline(folder / "e.json");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(faults("simulated", "tokens_per_s"), "");
  EXPECT_THAT(faults("foo", "tokens_per_s"), testing::HasSubstr("/scenarios/a.json/fidelity: found \"foo\""));
  EXPECT_THAT(faults("analytic", "tokens_per_second"),
              testing::HasSubstr("/scenarios/a.json/metrics/tokens_per_second: there is no metric"));
}

// Figures of two methods differ without a change of the program: none is compared, and no regression is reported.
TEST(CheckBaseline, AnotherFidelityIsBadInputAndNoRegression) {
  BaselineEntry entry = baseline_entry(prediction());
  entry.fidelity = prediction().fidelity == "analytic" ? "simulated" : "analytic";
  entry.metrics["tokens_per_s"] *= 2;
  const CheckReport report{
      CheckKind::baseline, "b.json", {check_against_baseline("a.json", prediction(), entry, {}, {})}};
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_TRUE(report.scenarios[0].metrics.empty());
  EXPECT_THAT(report.scenarios[0].errors,
              ElementsAre(testing::StartsWith("a.json: the baseline is " + entry.fidelity)));
}

TEST(CheckMeasured, WhatHoldsNothingToCompareIsOneFault) {
  MeasuredResults run;
  run.samples["step_time_s"] = run.samples["mfu"] = {{1, 1, 1, 1}};
  const ScenarioCheck warm = check_against_measured("a", prediction(), run, {}, 10);
  EXPECT_THAT(warm.errors, ElementsAre("no sample is left after the warm-up: 4 of step_time_s, 4 of mfu"));
  EXPECT_EQ((CheckReport{CheckKind::measured, "m.csv", {warm}}).exit_code(), 2);
  MeasuredResults other;
  other.samples["mfu"] = {{0.4}};
  EXPECT_THAT(check_against_measured("a", prediction(), other, {}, std::nullopt).errors,
              ElementsAre("the measured results hold no step time or throughput to compare"));
}

TEST(CheckMeasured, TheForecastsIntervalBoundsWhatIsTolerated) {
  const double step = prediction().step_time.value(), high = prediction().step_time_high().value();
  const auto with = [&](double seconds) {
    MeasuredResults run;
    run.samples["step_time_s"] = {{99 * seconds, seconds, seconds, seconds}};
    return check_against_measured("a", prediction(), run, {}, std::nullopt);
  };
  EXPECT_TRUE(with(step).passed());
  EXPECT_TRUE(with(high * 0.999).passed());
  EXPECT_FALSE(with(high * 1.001).passed());
  EXPECT_EQ(metric(with(step / 9), "step_time_s").verdict, Verdict::improved);
  MeasuredResults slow;
  slow.samples["tokens_per_s_per_gpu"] = {{prediction().tokens_per_s_per_gpu * step / high * 0.999}};
  EXPECT_FALSE(check_against_measured("a", prediction(), slow, {}, std::nullopt).passed());
  MeasuredResults other;
  other.samples["mfu"] = {{0.4}};
  EXPECT_FALSE(check_against_measured("a", prediction(), other, {}, std::nullopt).passed());
}

TEST(CheckFormats, NamesWithMarkupStayText) {
  CheckReport report{CheckKind::baseline,
                     "b.json",
                     {{"<a>&\"|`.json", {{"mfu", 0.5, 0.4, 1, true, Verdict::regression}}, {"no|\n<x>"}, {}}}};
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(check_junit(report), HasSubstr("&lt;a&gt;&amp;&quot;"));
  EXPECT_THAT(check_junit(report), HasSubstr("tests=\"2\" failures=\"2\""));
  EXPECT_THAT(check_markdown(report), HasSubstr("\\<a>"));
  EXPECT_THAT(check_markdown(report), Not(HasSubstr("no|")));
  EXPECT_EQ(check_json(report).at("scenarios")[0].at("metrics")[0].at("verdict"), "regression");
}

TEST(Prometheus, EverySampleFollowsItsTypeAndLabelsAreEscaped) {
  const std::string text = prometheus_text({{"a\"\\\n", &prediction()}, {"b", &prediction()}});
  EXPECT_THAT(text, HasSubstr("# TYPE stepcast_forecast_step_time_seconds gauge\n"));
  EXPECT_THAT(text, HasSubstr("stepcast_forecast_step_time_seconds{scenario=\"a\\\"\\\\\\n\"} "));
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace stepcast::check_test
