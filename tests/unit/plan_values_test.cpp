// Values that a question states: searched, refused, and named where options differ in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/plan.hpp"
#include "planner/stated_values.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::plan_values_test {
namespace {

using test::catalog;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A question about one model on one kind of server.
PlanQuestion question(const std::string& model, const std::string& strategy,
                      const std::string& cluster = R"("node": "dgx-h100", "nodes": 2)") {
  Diagnostics diagnostics("question");
  Json document = parse_json(fmt::format(R"({{"workload": {{"model": "{}", "global_batch": 64}}, "clusters": [{{{}}}],
                                             "strategy": {}}})",
                                         model, cluster, strategy),
                             diagnostics);
  diagnostics.throw_if_faulty();
  return read_plan_question(std::move(document), "question", {}, catalog());
}

std::string refusal(const std::string& model, const std::string& strategy) {
  try {
    question(model, strategy);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

PlanAnswer answer(const PlanQuestion& asked) {
  PlanOptions options;
  options.fidelity = Fidelity::analytic;
  return plan(asked, catalog(), options);
}

// Counts of what was forbidden say nothing of a value that no option can have; run names the rule and the way out.
TEST(StatedValues, ThatNoOptionCanHaveAreNamedInTheWordsOfRun) {
  const PlanAnswer experts = answer(question("mixtral-8x7b", R"({"framework": "megatron-lm", "expert_parallel": 16})"));
  ASSERT_TRUE(experts.candidates.empty());
  EXPECT_THAT(plan_text(experts), AllOf(HasSubstr("No option is legal"),
                                        HasSubstr("/strategy/expert_parallel: 16 does not divide the 8 experts")));
  EXPECT_THAT(plan_json(experts).at("faults"), Contains(HasSubstr("expert_parallel")));
  EXPECT_THAT(plan_text(answer(question("resnet50", R"({"tensor_parallel": 2})"))),
              HasSubstr("/strategy/tensor_parallel: found 2"));
  // One of the values can be had.
  const PlanAnswer some = answer(question("llama3-8b", R"({"framework": "megatron-lm", "tensor_parallel": [3, 4]})"));
  EXPECT_FALSE(some.candidates.empty());
  EXPECT_THAT(plan_json(some).at("faults"), testing::IsEmpty());
}

TEST(StatedValues, RecomputedModulesAreNamed) {
  EXPECT_THAT(refusal("llama3-8b", R"({"recompute": "modules"})"), HasSubstr("/strategy/recompute_modules: missing"));
  EXPECT_THAT(refusal("llama3-8b", R"({"recompute_modules": ["mlp"]})"), HasSubstr("which no option has"));
  const PlanAnswer found =
      answer(question("llama3-8b", R"({"framework": "megatron-lm", "recompute": ["modules", "none"],
                                           "recompute_modules": ["mlp"], "tensor_parallel": 4, "micro_batch": 1})"));
  ASSERT_FALSE(found.candidates.empty());
  for (const PlanCandidate& candidate : found.candidates) {
    const Json& strategy = candidate.scenario.at("strategy");
    EXPECT_EQ(strategy.at("recompute_modules").empty(), strategy.at("recompute") == "none");
  }
}

TEST(StatedValues, StatesOfTheOptimizerMayLieOnDrives) {
  const std::string stage3 =
      R"({"framework": "deepspeed", "sharding": "zero-3", "tensor_parallel": 1, "micro_batch": 1, )";
  EXPECT_THAT(refusal("llama3-8b", stage3 + R"("offload_optimizer_device": "nvme"})"),
              HasSubstr("/strategy/offload_optimizer_device: found nvme"));
  const auto on = [&](const char* device) {
    return answer(question(
        "llama3-8b", fmt::format(R"({}"offload_optimizer": true, "offload_optimizer_device": {}}})", stage3, device)));
  };
  const PlanAnswer drives = on("\"nvme\"");
  ASSERT_FALSE(drives.candidates.empty());
  EXPECT_EQ(drives.candidates[0].scenario.at("strategy").at("offload_optimizer_device"), "nvme");
  EXPECT_THAT(plan_text(drives), HasSubstr("optimizer on drives"));
  EXPECT_EQ(on(R"(["host", "nvme"])").tally.feasible, 2 * drives.tally.feasible) << "both are looked at";
}

// Resolving states NICs of every fabric; what the question chooses among is named.
TEST(StatedValues, FabricsThatDifferInTheirNicsReadDifferently) {
  const std::string strategy = R"({"framework": "megatron-lm", "tensor_parallel": 8, "micro_batch": 1})";
  const std::string text = plan_text(
      answer(question("llama3-8b", strategy,
                      R"("node": "dgx-h100", "nodes": 2, "fabric": [{"nics_per_node": 4}, {"nics_per_node": 8}])")));
  EXPECT_THAT(text, AllOf(HasSubstr("fabric's nics per node 4"), HasSubstr("fabric's nics per node 8")));
  EXPECT_THAT(text, Not(HasSubstr("bandwidth Gbps")));
  EXPECT_THAT(plan_text(answer(question("llama3-8b", strategy))), Not(HasSubstr("nics per node")));
}

// Eight storage systems take the same time without checkpoints: one of each is forecast, and not the first alone.
TEST(StatedValues, FinalistsAreOfSeveralMachines) {
  const PlanQuestion asked = question("llama3-8b", R"({"framework": "megatron-lm"})",
                                      R"("node": "dgx-h100", "nodes": 2, "storage": ["nfs-10gbe", "3fs-deepseek"])");
  PlanOptions options;
  options.fidelity = Fidelity::analytic;
  options.top = 30;
  std::set<std::string> storage;
  for (const PlanCandidate& candidate : plan(asked, catalog(), options).candidates)
    storage.insert(candidate.scenario.at("cluster").at("storage"));
  EXPECT_THAT(storage, testing::ElementsAre("3fs-deepseek", "nfs-10gbe"));
}

}  // namespace
}  // namespace stepcast::plan_values_test
