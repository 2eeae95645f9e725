// Sources of measured results, baselines, verdicts and their formats.
#include <gmock/gmock.h>

#include <cmath>

#include "checks/check_metric.hpp"
#include "checks/check_report.hpp"
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

TEST(Measured, LogOfMegatronIsReadByItself) {
  const MeasuredResults run = measured(kFolder + "megatron.log");
  EXPECT_EQ(run.format, MeasuredFormat::megatron);
  ASSERT_THAT(run.samples.at("step_time_s"), SizeIs(8));
  EXPECT_DOUBLE_EQ(run.samples.at("step_time_s")[1], 23.5104);
  EXPECT_NEAR(run.samples.at("model_tflops_per_gpu")[1], 141.1, 0.05);
}

TEST(Measured, LogOfDeepSpeedGivesTheCurrentThroughput) {
  const MeasuredResults run = measured(kFolder + "deepspeed.log");
  EXPECT_EQ(run.format, MeasuredFormat::deepspeed);
  EXPECT_DOUBLE_EQ(run.samples.at("samples_per_s").front(), 33.51);
  EXPECT_DOUBLE_EQ(run.samples.at("memory.peak_GiB").front(), 21.4);
}

TEST(Measured, LogOfTorchtitanIsReadThroughItsColours) {
  const MeasuredResults run = measured(kFolder + "torchtitan.log");
  EXPECT_EQ(run.format, MeasuredFormat::torchtitan);
  EXPECT_THAT(run.samples.at("tokens_per_s_per_gpu"), ElementsAre(3410, 3420, 3430, 3440, 3450, 3460));
  EXPECT_DOUBLE_EQ(run.samples.at("mfu").front(), 0.2034);
  EXPECT_DOUBLE_EQ(run.samples.at("memory.peak_GiB").front(), 47.28);
}

TEST(Measured, EventsOfTensorBoardAreRead) {
  const MeasuredResults run = measured(kFolder + "events.out.tfevents.torchtitan");
  EXPECT_EQ(run.format, MeasuredFormat::tensorboard);
  ASSERT_THAT(run.samples.at("tokens_per_s_per_gpu"), SizeIs(8));
  EXPECT_EQ(run.samples.at("tokens_per_s_per_gpu").back(), 3470);
}

TEST(Measured, RunOfMlflowAndAnswerOfPrometheusAreRead) {
  const MeasuredResults mlflow = measured(kFolder + "mlflow-run");
  EXPECT_EQ(mlflow.format, MeasuredFormat::mlflow);
  EXPECT_THAT(mlflow.samples.at("samples_per_s"), SizeIs(6));
  const MeasuredResults prometheus = measured(kFolder + "prometheus.json");
  EXPECT_EQ(prometheus.format, MeasuredFormat::prometheus);
  EXPECT_THAT(prometheus.samples.at("step_time_s"), ElementsAre(2.41, 2.39, 2.40)) << "NaN is no sample";
}

TEST(Measured, TablesTakeTheSeriesThatIsNamed) {
  const ScratchFolder folder;
  write_file(folder / "a.csv", "step,took,who\n1,1200,x\n2,1100,y\n");
  write_file(folder / "a.jsonl", "{\"step_time_s\": 1.5}\n{\"step_time_s\": 1.4}\n");
  Diagnostics diagnostics("");
  const auto names = parse_series_names({"step_time_s=took*0.001"}, diagnostics);
  ASSERT_TRUE(diagnostics.ok());
  EXPECT_THAT(measured(folder / "a.csv", names).samples.at("step_time_s"), ElementsAre(1.2, 1.1));
  EXPECT_THAT(measured(folder / "a.jsonl").samples.at("step_time_s"), ElementsAre(1.5, 1.4));
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
        for (const auto& [metric, samples] : measured(folder / name).samples)
          for (const double sample : samples) ASSERT_TRUE(std::isfinite(sample) && sample > 0);
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
  EXPECT_THAT(after_warmup({9, 1, 1}, std::nullopt), ElementsAre(1, 1));
  EXPECT_THAT(after_warmup({9, 1}, std::nullopt), ElementsAre(9, 1));
  EXPECT_THAT(after_warmup(std::vector<double>(40, 1.0), std::nullopt), SizeIs(36));
  EXPECT_THAT(after_warmup({9, 1, 1}, 0), SizeIs(3));
  EXPECT_THAT(after_warmup({9, 1, 1}, 7), SizeIs(0));
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

TEST(CheckMeasured, TheForecastsIntervalBoundsWhatIsTolerated) {
  const double step = prediction().step_time.value(), high = prediction().step_time_high().value();
  const auto with = [&](double seconds) {
    MeasuredResults run;
    run.samples["step_time_s"] = {99 * seconds, seconds, seconds, seconds};
    return check_against_measured("a", prediction(), run, {}, std::nullopt);
  };
  EXPECT_TRUE(with(step).passed());
  EXPECT_TRUE(with(high * 0.999).passed());
  EXPECT_FALSE(with(high * 1.001).passed());
  EXPECT_EQ(metric(with(step / 9), "step_time_s").verdict, Verdict::improved);
  MeasuredResults slow;
  slow.samples["tokens_per_s_per_gpu"] = {prediction().tokens_per_s_per_gpu * step / high * 0.999};
  EXPECT_FALSE(check_against_measured("a", prediction(), slow, {}, std::nullopt).passed());
  MeasuredResults other;
  other.samples["mfu"] = {0.4};
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
