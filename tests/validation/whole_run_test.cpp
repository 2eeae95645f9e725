#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/e2e/process.hpp"

namespace stepcast::whole_run_test {
namespace {

using testing::HasSubstr;

Json run_of(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Finished run = stepcast_run(arguments);
  EXPECT_EQ(run.code, 0) << run.err;
  return run.code == 0 ? run.json() : Json();
}

double number(const Json& document, const char* pointer) { return document.at(Json::json_pointer(pointer)); }

/// Model card of Llama 3.1 405B: 30.84 M H100-hours.
TEST(WholeRun, Llama3sPhasesTakeItsGpuHours) {
  const Json closed = run_of({"run", scenario_file("llama3-405b-run"), "--fidelity", "analytic"});
  ASSERT_TRUE(closed.is_object());
  EXPECT_NEAR(number(closed, "/run/device_hours") / 30.84e6, 1, 0.10);
  const Json simulated = run_of({"run", scenario_file("llama3-405b-run")});
  EXPECT_NEAR(number(simulated, "/run/device_hours") / 30.84e6, 1, 0.10);
  EXPECT_NEAR(number(simulated, "/run/device_hours") / number(closed, "/run/device_hours"), 1, 0.03);
}

/// The Llama 3 paper: more than 90 % effective training time with 419 unexpected interruptions in 54 days.
TEST(WholeRun, Llama3sGoodputIsThePublishedAndFollowsDaly) {
  const auto goodput = [](const char* factor) {
    return run_of({"run", scenario_file("llama3-405b-run"), "--fidelity", "analytic", "--set",
                   std::string("run.reliability.rate_factor=") + factor})["goodput"];
  };
  const Json once = goodput("1"), twice = goodput("2");
  EXPECT_GE(number(once, "/mean"), 0.90);
  EXPECT_LE(number(once, "/mean"), 0.96);
  // On all 16,384 as published; the run's phases on half of them are interrupted half as often.
  const double published = 54 * 24 / 419.0;
  const Json whole = run_of({"run", scenario_file("llama3-405b-h100-16384"), "--fidelity", "analytic"})["goodput"];
  EXPECT_NEAR(number(whole, "/between_interruptions_h"), published, 0.01);
  EXPECT_GT(number(once, "/between_interruptions_h"), published);
  EXPECT_LT(number(once, "/between_interruptions_h"), 2 * published);
  const double lower = number(once, "/mean") - number(twice, "/mean");
  EXPECT_GT(lower, 0);
  EXPECT_NEAR(lower, number(once, "/formula") - number(twice, "/formula"), 0.01);
}

/// Mean power of a node while it works, over MLPerf's power logs (power.json, mlperf-*), each with the framework and
/// format that validation reads its round with.
struct PowerLog {
  const char *name, *node, *cooling, *model, *precision, *framework;
  int nodes, batch;
  std::vector<std::string> set;
  double measured_W;
};

TEST(WholeRun, NodesDrawWhatMlperfsLogsShow) {
  const std::vector<PowerLog> logs{
      {"GPT-3 on 512 H100",
       "dgx-h100",
       "immersion-single-phase",
       "gpt3-175b",
       "fp8",
       "nemo-25.04",
       64,
       2048,
       {"strategy.tensor_parallel=4", "strategy.sequence_parallel=true", "strategy.pipeline_parallel=8",
        "strategy.micro_batch=2"},
       6846},
      {"Llama 2 70B LoRA on 8 H100",
       "dgx-h100",
       "immersion-single-phase",
       "llama2-70b",
       "fp8",
       "nemo-25.04",
       1,
       8,
       {"strategy.tensor_parallel=4", "strategy.sequence_parallel=true", "workload.seq_len=8192",
        "workload.adapter_rank=16", "strategy.micro_batch=1"},
       7203},
      {"Llama 2 70B LoRA on 8 B200",
       "dgx-b200",
       "direct-to-chip",
       "llama2-70b",
       "fp8",
       "nemo-25.04",
       1,
       8,
       {"workload.seq_len=8192", "workload.adapter_rank=16", "strategy.micro_batch=1"},
       9619},
      {"BERT on 8 H100", "dgx-h100", "immersion-single-phase", "bert-large", "fp8", "pytorch-mlperf", 1, 384, {}, 6819},
      {"ResNet-50 on 8 H100",
       "dgx-h100",
       "immersion-single-phase",
       "resnet50",
       "fp16",
       "mxnet-mlperf",
       1,
       3200,
       {},
       6924}};
  double errors = 0;
  for (const PowerLog& log : logs) {
    Json scenario{{"cluster", {{"node", log.node}, {"nodes", log.nodes}, {"cooling", log.cooling}}},
                  {"workload", {{"model", log.model}, {"global_batch", log.batch}, {"precision", log.precision}}},
                  {"strategy", {{"framework", log.framework}}}};
    scenario["cluster"]["facility"]["pue"] = 1;
    ScratchFolder folder;
    const std::string file = folder / "power.json";
    write_file(file, scenario.dump());
    std::vector<std::string> arguments{"run", file};
    for (const std::string& value : log.set) arguments.insert(arguments.end(), {"--set", value});
    const Json run = run_of(arguments);
    ASSERT_TRUE(run.is_object()) << log.name;
    const Json& fabric = run["power"]["fabric_W"];
    const double servers = number(run, "/power/average_W") - (fabric.is_null() ? 0 : fabric.get<double>());
    const double ratio = servers / log.nodes / log.measured_W;
    EXPECT_NEAR(ratio, 1, 0.10) << log.name << ": " << servers / log.nodes << " W";
    errors += std::abs(ratio - 1);
  }
  EXPECT_LE(errors / static_cast<double>(logs.size()), 0.07);
}

/// Le Scao et al. 2022: about 150 TFLOP/s a GPU. Touvron et al. 2023: about 380 tokens/s a GPU.
TEST(WholeRun, BloomAndLlamaRunAsPublished) {
  EXPECT_NEAR(number(run_of({"run", scenario_file("bloom-176b-a100-384")}), "/hardware_tflops_per_gpu") / 150, 1, 0.15);
  EXPECT_NEAR(number(run_of({"run", scenario_file("llama-65b-a100-2048")}), "/tokens_per_s_per_gpu") / 380, 1, 0.15);
}

TEST(GoodputCommand, AnswersAlikeOnAnyNumberOfThreads) {
  const std::vector<std::string> command{"goodput", scenario_file("llama3-405b-run"), "--set",  "run.fidelity=analytic",
                                         "--set",   "run.reliability.trials=40",      "--json", "--jobs"};
  std::vector<std::string> one = command, three = command;
  one.emplace_back("1");
  three.emplace_back("3");
  const Finished first = stepcast_run(one);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, stepcast_run(three).out);
  EXPECT_THAT(stepcast_run({"goodput", scenario_file("llama3-405b-run"), "--set", "run.fidelity=analytic"}).out,
              HasSubstr("By interval between checkpoints"));
}

TEST(StudyCommand, SaysWhichClaimsTheModelBearsOut) {
  const Json study = run_of({"study", scenario_file("power-optimisation")});
  ASSERT_TRUE(study.is_object());
  const Json& capped = study["variants"][0]["figures"];
  EXPECT_EQ(capped["throughput"]["verdict"], "the opposite");
  EXPECT_EQ(capped["pue"]["verdict"], "no change");
  EXPECT_GT(capped["flops_per_W"]["gain_percent"], 0);
  EXPECT_EQ(study["variants"][2]["name"], "Precision: fp8");
  EXPECT_GT(study["variants"][2]["figures"]["throughput"]["gain_percent"], 0);
}

TEST(StudyCommand, NamesFaultsByVariant) {
  ScratchFolder folder;
  const std::string file = folder / "study.json";
  write_file(file, R"({"scenario": {"cluster": {"node": "dgx-h100", "nodes": 1}, "workload": {"model": "gpt2",
      "global_batch": 8}}, "variants": [{"name": "a", "set": ["cluster.power_cap_W=-1"]}], "clams": []})");
  const Finished run = stepcast_run({"study", file});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("claims"));
}

}  // namespace
}  // namespace stepcast::whole_run_test
