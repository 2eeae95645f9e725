#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "fields/streamed_file.hpp"
#include "report/csv.hpp"
#include "report/humane.hpp"
#include "report/json.hpp"
#include "report/predict.hpp"
#include "report/text.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::report_test {
namespace {

using testing::HasSubstr;

Prediction sample() {
  Prediction p;
  p.scenario_name = "A model on a cluster, \"quoted\"";
  p.step_time = Seconds(1.0 / 3);
  p.samples_per_s = 96;
  p.samples_per_s_per_gpu = 6;
  p.tokens_per_s = 96 * 2048;
  p.tokens_per_s_per_gpu = 6 * 2048;
  p.model_tflops_per_gpu = 140.25;
  p.hardware_tflops_per_gpu = 187;
  p.mfu = 0.4495;
  p.hfu = 0.599;
  p.communication.total = 80_ms;
  p.communication.exposed = 50_ms;
  p.communication.by_kind["all_reduce"] = {80_ms, 50_ms};
  p.communication.by_dimension["data"] = {80_ms, 50_ms};
  p.compute = 200_ms;
  p.bubble = 40_ms;
  p.synchronization_wait = 10_ms;
  p.optimizer = 20_ms;
  p.overhead = Seconds(1.0 / 3 - 0.32);
  p.host = 5_ms;
  p.memory.stages = {{10_GiB, 10_GiB, 20_GiB, 12.5_GiB, 1_GiB, 2_GiB}, {9_GiB, 9_GiB, 18_GiB, 3_GiB, 1_GiB, 2_GiB}};
  p.memory.capacity = 79.15_GiB;
  p.gpu_utilization = 0.66;
  p.average_power = Watts(7123.4);
  p.peak_power = 9_kW;
  p.device_average_power = 310_W;
  p.energy_per_step = Joules(7123.4 / 3);
  p.energy_per_sample = Joules(7123.4 / 96);
  p.cost_rate = Dollars(32.77) / 1_h;
  p.run_cost = Dollars(1234567.8);
  p.cost_basis = "on demand, $16.39 an hour a node";
  p.time_to_train = 30_days;
  p.fidelity = "simulated";
  p.version = "0.1.0";
  p.catalog_hash = "0123456789abcdef";
  p.assumptions = {"the site is unknown: PUE 1.56"};
  p.devices = 16;
  p.nodes = 2;
  p.degrees.dp = 16;
  return p;
}

TEST(PredictionJson, HasEveryNameThatScriptsRelyOn) {
  const Json json = to_json(sample());
  for (const char* pointer : {"/step_time_s",
                              "/samples_per_s",
                              "/tokens_per_s",
                              "/tokens_per_s_per_gpu",
                              "/model_tflops_per_gpu",
                              "/hardware_tflops_per_gpu",
                              "/mfu",
                              "/hfu",
                              "/communication/total_s",
                              "/communication/exposed_s",
                              "/communication/by_kind/all_reduce/total_s",
                              "/communication/by_dimension/data/exposed_s",
                              "/bubble_s",
                              "/synchronization_wait_s",
                              "/memory/fits",
                              "/memory/peak_GiB",
                              "/memory/by_category_GiB/activations",
                              "/memory/by_stage_GiB/1",
                              "/gpu_utilization",
                              "/power/average_W",
                              "/power/peak_W",
                              "/energy/per_step_J",
                              "/energy/per_sample_J",
                              "/cost/per_hour_usd",
                              "/cost/run_usd",
                              "/cost/basis",
                              "/time_to_train_s",
                              "/fidelity",
                              "/version",
                              "/catalog_hash",
                              "/flop_convention/causal_halved",
                              "/parallelism/data"})
    EXPECT_TRUE(json.contains(Json::json_pointer(pointer))) << pointer;
  EXPECT_DOUBLE_EQ(json["memory"]["peak_GiB"].get<double>(), 55.5);
  EXPECT_DOUBLE_EQ(json["cost"]["per_hour_usd"].get<double>(), 32.77);
}

// Attention that no kernel fuses runs the masked half, too: the convention that counts it adds nothing to what ran.
TEST(Prediction, UnfusedAttentionRunsWholeWhateverCounts) {
  const auto rates = [](const char* framework, bool halved) {
    const Scenario scenario = resolve({{"cluster", {{"node", "dgx-a100-80gb"}}},
                                       {"workload", {{"model", "gpt3-6.7b"}, {"global_batch", 64}}},
                                       {"strategy", {{"framework", framework}, {"tensor_parallel", 8}}},
                                       {"run", {{"flop_convention", {{"causal_halved", halved}}}}}},
                                      "flops", {}, test::catalog());
    return predict_analytic(scenario, test::catalog());
  };
  const Prediction whole = rates("megatron-lm-2021", false);
  EXPECT_NEAR(whole.hardware_tflops_per_gpu, rates("megatron-lm-2021", true).hardware_tflops_per_gpu, 1e-9);
  EXPECT_NEAR(whole.hardware_tflops_per_gpu / whole.model_tflops_per_gpu, 1, 1e-3);
  EXPECT_GT(rates("megatron-lm", false).hardware_tflops_per_gpu, rates("megatron-lm", true).hardware_tflops_per_gpu);
}

TEST(PredictionJson, IsTheSameTextAfterARoundTrip) {
  const std::string once = to_json(sample()).dump();
  EXPECT_EQ(to_json(prediction_from_json(Json::parse(once))).dump(), once);
}

TEST(PredictionJson, SaysNullForWhatIsUnknown) {
  Prediction p = sample();
  p.tokens_per_s = p.tokens_per_s_per_gpu = 0;
  p.cost_rate.reset();
  p.run_cost.reset();
  p.cost_basis.clear();
  p.time_to_train.reset();
  const Json json = to_json(p);
  EXPECT_TRUE(json["tokens_per_s"].is_null());
  EXPECT_TRUE(json["cost"]["per_hour_usd"].is_null());
  EXPECT_TRUE(json["cost"]["run_usd"].is_null());
  EXPECT_TRUE(json["cost"]["basis"].is_null());
  EXPECT_TRUE(json["time_to_train_s"].is_null());
  EXPECT_EQ(to_json(prediction_from_json(json)), json);
}

TEST(PredictionJson, RefusesFiguresThatCannotBe) {
  Prediction p = sample();
  p.bubble = Seconds(-1e-9);
  EXPECT_THROW(to_json(p), std::logic_error);
  p = sample();
  p.mfu = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(text_report(p), std::logic_error);
  p = sample();
  p.step_time = Seconds(0);
  EXPECT_THROW(csv_row(p), std::logic_error);
}

TEST(PredictionJson, RefusesWhatIsNoPrediction) {
  EXPECT_THROW(prediction_from_json(Json{{"step_time_s", 1}}), std::runtime_error);
  EXPECT_THROW(prediction_from_json(Json("text")), std::runtime_error);
}

// Found by a fuzzer: the fullest of one stage was the third.
TEST(PredictionJson, RefusesAFullestStageThatIsNone) {
  for (const int stage : {-1, 1, 2}) {
    Json document = to_json(sample());
    document["memory"]["worst_stage"] = stage;
    document["memory"]["by_stage_and_category_GiB"] = Json::array({document["memory"]["by_category_GiB"]});
    EXPECT_THROW(prediction_from_json(document), std::runtime_error) << stage;
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == '\n') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  return out;
}

TEST(TextReport, KeepsToAHundredColumnsAndSaysTheHeadlineFirst) {
  const std::string text = text_report(sample());
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(columns_of(line), 100) << line;
    EXPECT_FALSE(!line.empty() && line.back() == ' ') << '"' << line << '"';
  }
  EXPECT_LT(text.find("Throughput"), text.find("Where the step goes"));
  EXPECT_THAT(text, HasSubstr("fits: 55.5 GiB of 79.2 GiB"));
  EXPECT_THAT(text, HasSubstr("333 ms"));
  EXPECT_THAT(text, HasSubstr("the site is unknown"));
}

TEST(TextReport, SaysByHowMuchAModelDoesNotFitAndWhatHelps) {
  Prediction p = sample();
  p.memory.capacity = 40_GiB;
  p.memory.fits = false;
  p.memory.advice = {"strategy.recompute = \"full\": 30.1 of 40.0 GiB"};
  const std::string text = text_report(p);
  EXPECT_THAT(text, HasSubstr("DOES NOT FIT: 15.5 GiB"));
  EXPECT_THAT(text, HasSubstr("strategy.recompute"));
}

TEST(TextReport, SaysWhyNoGradientsAreCounted) {
  constexpr const char* kWhy = "no gradients exist yet";
  Prediction p = sample();
  EXPECT_THAT(text_report(p), testing::Not(HasSubstr(kWhy)));
  p.memory.stages.front().gradients = Bytes(0);
  EXPECT_THAT(text_report(p), HasSubstr(kWhy));
  p.memory.stages.front().optimizer = Bytes(0);  // both are on the host
  EXPECT_THAT(text_report(p), testing::Not(HasSubstr(kWhy)));
}

TEST(Csv, HasAsManyCellsAsColumnsAndQuotesWhatItMust) {
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a \"b\""), "\"a \"\"b\"\"\"");
  EXPECT_EQ(csv_field("plain"), "plain");
  const std::string header = csv_header(), row = csv_row(sample());
  EXPECT_THAT(row, testing::StartsWith("\"A model on a cluster, \"\"quoted\"\"\",2,16,"));
  // The quoted name holds one comma of its own.
  EXPECT_EQ(std::count(header.begin(), header.end(), ',') + 1, std::count(row.begin(), row.end(), ','));
  EXPECT_THAT(header, HasSubstr("communication.by_kind.all_to_all.exposed_s"));
}

TEST(Humane, PicksUnitsThatPeopleRead) {
  EXPECT_EQ(humane(Seconds(0)), "0 s");
  EXPECT_EQ(humane(12.34_us), "12.3 µs");
  EXPECT_EQ(humane(41.52_ms), "41.5 ms");
  EXPECT_EQ(humane(Seconds(0.9999)), "1.00 s");
  EXPECT_EQ(humane(2.5_h), "2.50 h");
  EXPECT_EQ(humane(12.4_days), "12.4 days");
  EXPECT_EQ(humane(54.26_GiB), "54.3 GiB");
  EXPECT_EQ(humane(53.1_kW), "53.1 kW");
  EXPECT_EQ(humane(Dollars(6.342e-7)), "$0.000000634");
  EXPECT_EQ(humane(Dollars(0.003456)), "$0.00346");
  EXPECT_EQ(humane(Dollars(0.01234)), "$0.0123");
  EXPECT_EQ(humane(Dollars(0.4235)), "$0.42");
  EXPECT_EQ(humane(Dollars(12345)), "$12,345");
  EXPECT_EQ(humane(Dollars(4.62e6)), "$4.62 M");
  EXPECT_EQ(humane_count(74712), "74.7 k");
  EXPECT_EQ(humane_count(1024), "1,024");
  EXPECT_EQ(humane_count(0.0356), "0.0356");
  EXPECT_EQ(percent(0.455), "45.5 %");
}

TEST(Humane, DrawsBarsInEighths) {
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(gauge(0.125, 4), "▌░░░");
  EXPECT_EQ(columns_of(gauge(0.3, 20)), 20);
  EXPECT_EQ(columns_of(gauge(7, 20)), 20);
}

TEST(Report, LeavesOutTrafficThatTakesNothingOfAStep) {
  Prediction p = sample();
  p.communication.by_kind["broadcast"] = {p.step_time * 1e-6, Seconds(0)};
  EXPECT_THAT(text_report(p), Not(HasSubstr("broadcast")));
  p.communication.by_kind["broadcast"] = {p.step_time * 1e-4, Seconds(0)};
  EXPECT_THAT(text_report(p), HasSubstr("broadcast"));
}

TEST(Report, SaysThatHostMemoryIsWhatOverflows) {
  Prediction p = sample();
  p.memory.fits = false;
  p.memory.stages[1].host = 30_GiB;
  p.memory.host_capacity = 24_GiB;
  const std::string text = text_report(p);
  EXPECT_THAT(text, HasSubstr("DOES NOT FIT: 6.00 GiB too much in host memory"));
  EXPECT_THAT(text, HasSubstr("30.0 GiB of each device in host memory, of 24.0 GiB"));
  const Json json = to_json(p);
  EXPECT_DOUBLE_EQ(json["memory"]["host_GiB"].get<double>(), 30);
  EXPECT_DOUBLE_EQ(json["memory"]["host_capacity_GiB"].get<double>(), 24);
  EXPECT_DOUBLE_EQ(json["memory"]["host_by_stage_GiB"][0].get<double>(), 0);
}

TEST(StreamedFile, AppearsWholeOrNotAtAll) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder / "streamed.txt";
  {
    StreamedFile abandoned(file);
    abandoned.write("half");
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  StreamedFile kept(file);
  kept.write("all ");
  kept.write("of it");
  EXPECT_FALSE(std::filesystem::exists(file));
  kept.commit();
  std::string text;
  std::getline(std::ifstream(file), text);
  EXPECT_EQ(text, "all of it");
  EXPECT_THROW(StreamedFile(folder / "no such folder" / "file"), InputError);
}

}  // namespace
}  // namespace stepcast::report_test
