#include "models/scenario/default_scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::default_scenario_test {
namespace {

using test::catalog;
using testing::HasSubstr;

class DefaultScenario : public testing::TestWithParam<std::tuple<const char*, const char*, int>> {};

TEST_P(DefaultScenario, IsLegalAndLeavesATenthOfTheMemory) {
  const auto& [model, node, nodes] = GetParam();
  const Json document = default_scenario(model, node, nodes, catalog());
  const Scenario s = resolve(document, "default", {}, catalog());
  const MemoryReport memory = memory_of(lower(s));
  EXPECT_TRUE(memory.fits);
  EXPECT_LE(memory.stages.at(memory.worst_stage).total() / memory.capacity, 0.9) << document.dump(1);
  EXPECT_THAT(document.value("description", ""),
              testing::ContainsRegex("^chosen because [0-9]+ of [0-9]+ legal strategies leave 10 % of the memory free, "
                                     "and this is the (fastest|plainest) of"));
}
INSTANTIATE_TEST_SUITE_P(
    Pairs, DefaultScenario,
    testing::Values(std::tuple("llama3-70b", "dgx-h100", 8), std::tuple("llama3-405b", "dgx-h100", 64),
                    std::tuple("gpt3-175b", "dgx-a100-80gb", 128), std::tuple("gpt2", "aws-g5.xlarge", 1),
                    std::tuple("resnet50", "dgx-1-v100-16gb", 4), std::tuple("bert-large", "dgx-1-v100-32gb", 16),
                    std::tuple("llama2-7b", "tpu-v4-host", 8), std::tuple("mixtral-8x7b", "dgx-h100", 2),
                    std::tuple("deepseek-v3", "gb200-nvl72", 8), std::tuple("deepseek-v3", "dgx-h100", 64),
                    std::tuple("resnet50", "rental-epyc-9454p-256gb", 1)));

std::string framework_of_default(const char* model, const char* node, int nodes) {
  return default_scenario(model, node, nodes, catalog())["strategy"]["framework"];
}

TEST(DefaultStrategy, CutsOnlyWhatNeedsCutting) {
  EXPECT_EQ(framework_of_default("gpt2", "dgx-h100", 1), "pytorch-ddp");
  EXPECT_EQ(framework_of_default("bert-large", "dgx-h100", 4), "pytorch-ddp");
  EXPECT_EQ(framework_of_default("llama3-70b", "dgx-h100", 8), "megatron-lm");
  EXPECT_EQ(framework_of_default("resnet50", "rental-epyc-9454p-256gb", 1), "pytorch-cpu");
}

// As the models of GPT-3's table and Llama 2 were trained.
TEST(DefaultStrategy, ABatchOfTokensGrowsWithTheModel) {
  for (const auto& [model, tokens] : {std::pair("gpt3-125m", 1 << 19),
                                      {"gpt3-760m", 1 << 19},
                                      {"gpt3-1.3b", 1 << 20},
                                      {"gpt3-2.7b", 1 << 20},
                                      {"gpt3-6.7b", 1 << 22},
                                      {"llama2-7b", 1 << 22},
                                      {"llama2-70b", 1 << 22}}) {
    const Scenario s = resolve(default_scenario(model, "dgx-h100", 4, catalog()), "default", {}, catalog());
    EXPECT_EQ(s.spec.workload.global_batch * s.seq_len, tokens) << model;
  }
}

// Experts go over the devices of a node before anything cuts their products.
TEST(DefaultStrategy, SpreadsExpertsOverANode) {
  const auto strategy = [](const char* model, const char* node, int nodes) {
    return default_scenario(model, node, nodes, catalog())["strategy"];
  };
  const Json mixtral = strategy("mixtral-8x7b", "dgx-h100", 4);
  EXPECT_EQ(mixtral["expert_parallel"], 8);
  EXPECT_FALSE(mixtral.contains("tensor_parallel")) << mixtral;
  const Json deepseek = strategy("deepseek-v3", "gb200-nvl72", 8);
  EXPECT_GE(deepseek["expert_parallel"], 32);
  EXPECT_FALSE(deepseek.contains("tensor_parallel")) << deepseek;
  EXPECT_FALSE(strategy("deepseek-v3", "dgx-h100", 64).contains("tensor_parallel"));
}

double closed_speed(const Json& document, const std::vector<std::string>& changes = {}) {
  const Scenario s = resolve(document, "default", changes, catalog());
  return static_cast<double>(s.spec.workload.global_batch) / estimate(lower(s)).step_time.value();
}

// Full recomputation on as few devices as hold the model was preferred to sharding it once.
TEST(DefaultStrategy, IsAsFastAsWhatOthersWouldTake) {
  const std::string fsdp = R"(strategy={"framework": "pytorch-fsdp", "micro_batch": 1, "recompute": "full"})";
  for (const auto& [model, node, nodes, other] :
       {std::tuple{"llama3-8b", "dgx-h100", 1, fsdp}, std::tuple{"llama3-8b", "dgx-h100", 16, fsdp},
        std::tuple{"llama3.2-3b", "server-4xl40s", 1, fsdp},
        std::tuple{"llama3-70b", "dgx-h100", 64,
                   std::string(R"(strategy={"framework": "megatron-lm", "tensor_parallel": 8, "sequence_parallel": true,
                                  "pipeline_parallel": 2, "micro_batch": 1})")}}) {
    const Json document = default_scenario(model, node, nodes, catalog());
    EXPECT_GT(closed_speed(document), 0.95 * closed_speed(document, {other})) << model << " " << document.dump(1);
  }
}

TEST(DefaultStrategy, ShowsTheSmallestWhenNothingFits) {
  const Json document = default_scenario("gpt3-175b", "dgx-a100-80gb", 1, catalog());
  const Scenario s = resolve(document, "default", {}, catalog());
  EXPECT_FALSE(memory_of(lower(s)).fits);
  EXPECT_THAT(document.value("description", ""), HasSubstr("shown because none of"));
}

// Parts below 4,096 tokens are tried for sequences that somebody asks for.
TEST(DefaultStrategy, CutsNoSequenceThatNobodyStates) {
  Json scenario = scenario_without_strategy("llama3-405b", "dgx-h100", 1);
  const auto tried = [&] {
    const std::string why = completed_scenario(scenario, "test", catalog())["description"];
    return std::stoi(why.substr(why.find("none of ") + 8));
  };
  const int plain = tried();
  scenario["workload"]["seq_len"] = 8192;
  EXPECT_GT(tried(), plain);
}

// What a scenario states is the question, not the answer.
TEST(DefaultStrategy, LeavesWhatAScenarioStatesAlone) {
  Json scenario = default_scenario("llama3-70b", "dgx-h100", 64, catalog());
  scenario["workload"]["global_batch"] = 1024;
  scenario["workload"]["seq_len"] = 131072;
  scenario["cluster"]["fabric"] = {{"oversubscription", 4}};
  Json chosen = with_default_strategy(scenario, catalog()).scenario;
  const Scenario s = resolve(chosen, "chosen", {}, catalog());
  EXPECT_TRUE(memory_of(lower(s)).fits);
  chosen.erase("strategy");
  scenario.erase("strategy");
  EXPECT_EQ(chosen, scenario);
}

// A framework is what a team works in; the rest of the strategy is what is chosen.
TEST(DefaultStrategy, StaysInTheFrameworkThatIsStated) {
  Json scenario = scenario_without_strategy("llama3-8b", "dgx-h100", 4);
  scenario["strategy"] = {{"framework", "pytorch-fsdp"}, {"tensor_parallel", 3}};
  const Json chosen = with_default_strategy(scenario, catalog()).scenario["strategy"];
  EXPECT_EQ(chosen["framework"], "pytorch-fsdp");
  EXPECT_NE(chosen.value("tensor_parallel", 1), 3);
}

Json completed(const char* model, int nodes, const Json& strategy) {
  Json scenario = scenario_without_strategy(model, "dgx-h100", nodes);
  scenario["strategy"] = strategy;
  return completed_scenario(scenario, "test", catalog());
}

TEST(DefaultStrategy, HasTheKeysThatAreStated) {
  const Json one = completed("llama3-70b", 8, {{"tensor_parallel", 2}, {"recompute", "full"}});
  EXPECT_EQ(one["strategy"]["tensor_parallel"], 2);
  EXPECT_EQ(one["strategy"]["recompute"], "full");
  EXPECT_THAT(one["description"].get<std::string>(), HasSubstr("legal strategies"));
  const Scenario scenario = resolve(one, "test", {}, catalog());
  EXPECT_TRUE(memory_of(lower(scenario)).fits);
  EXPECT_EQ(completed("llama3-8b", 4, {{"framework", "deepspeed"}})["strategy"]["framework"], "deepspeed");
}

TEST(DefaultStrategy, SaysWhatIsWrongWithWhatIsStated) {
  for (const Json& stated :
       {Json{{"tensor_parallel", 3}}, Json{{"pipeline_parallel", 1000}}, Json{{"micro_batch", 0}}, Json(5)}) {
    try {
      completed("llama3-70b", 8, stated);
      FAIL() << stated;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(stated.is_object() ? "/strategy/" + stated.items().begin().key() : "/strategy:"));
    }
  }
}

// 512 sequences over 24 replicas were 528, over three of eight 513: one at a time, and slower than on two nodes.
TEST(DefaultStrategy, MoreNodesAreNotSlowerForTheirOddNumber) {
  for (const char* model : {"llama3-8b", "llama2-13b", "gpt3-2.7b"}) {
    double before = 0;
    for (const int nodes : {2, 3, 4, 5, 6, 7, 8}) {
      const double speed = closed_speed(default_scenario(model, "dgx-h100", nodes, catalog()));
      EXPECT_GT(speed, before) << model << ' ' << nodes;
      before = speed;
    }
  }
}

TEST(DefaultStrategy, SaysThatNoneFits) {
  try {
    with_default_strategy(default_scenario("gpt3-175b", "dgx-a100-80gb", 1, catalog()), catalog());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("fits memory: the nearest lacks"));
  }
}

TEST(DefaultStrategy, RefusesUnknownNamesTogether) {
  try {
    default_scenario("llama3-70", "dgx-h10", 0, catalog());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 3U) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"llama3-70b\"?"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"dgx-h100\"?"));
  }
}

}  // namespace
}  // namespace stepcast::default_scenario_test
