// What the planner's search promises: no option of a small space beats what it keeps, quick ways give what slow ones
// do, and its lower bounds are bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "models/estimate.hpp"
#include "models/least_step.hpp"
#include "models/memory/memory.hpp"
#include "models/memory/peak.hpp"
#include "models/updates/lone_node.hpp"
#include "planner/plan.hpp"
#include "report/predict.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::planner_property_test {
namespace {

using test::catalog;

PlanQuestion question(const std::string& text) {
  Diagnostics diagnostics("question");
  Json document = parse_json(text, diagnostics);
  diagnostics.throw_if_faulty();
  return read_plan_question(std::move(document), "question", {}, catalog());
}

/// Small spaces that differ in what they search: pipelines, experts, sharding, several servers, limits.
const std::vector<std::string>& questions() {
  static const std::vector<std::string> kQuestions{
      R"({"workload": {"model": "gpt3-13b", "global_batch": 64, "tokens": 1e9},
          "clusters": [{"node": "dgx-a100-80gb", "nodes": [1, 2, 4]}],
          "strategy": {"framework": "megatron-lm"}})",
      R"({"workload": {"model": "llama3-8b", "global_batch": 96, "least_global_batch": 80, "seq_len": 8192},
          "clusters": [{"node": "dgx-h100", "nodes": {"from": 1, "to": 3}}]})",
      R"({"workload": {"model": "mixtral-8x7b", "global_batch": 64},
          "clusters": [{"node": "dgx-h100", "nodes": 4}],
          "strategy": {"framework": "megatron-lm", "recompute": ["none", "full"], "sequence_parallel": true,
                       "expert_dispatch": "all_to_all"}})",
      R"({"workload": {"model": "qwen3-30b-a3b", "global_batch": 32},
          "clusters": [{"node": "dgx-h100", "nodes": 2}],
          "strategy": {"framework": "megatron-lm", "recompute": "full", "tensor_parallel": [1, 2, 4],
                       "expert_tensor_parallel": 1}})",
      R"({"workload": {"model": "resnet50", "global_batch": 2048, "epochs": 90},
          "clusters": [{"node": "dgx-a100-80gb", "nodes": [1, 2]}, {"node": "dgx-h100", "nodes": [1, 2]}],
          "objective": ["time", "energy"], "constraints": {"power_kW": 30}})",
      R"({"workload": {"model": "gpt3-13b", "global_batch": 128, "tokens": 2e9},
          "clusters": [{"node": "aws-p4de.24xlarge", "nodes": [2, 4]}, {"node": "aws-p5.48xlarge", "nodes": [1, 2]}],
          "strategy": {"framework": "megatron-lm", "tensor_parallel": [4, 8]},
          "objective": ["cost", "time"], "constraints": {"deadline_days": 4, "memory_headroom_percent": 5}})",
      R"({"workload": {"model": "gpt3-13b", "global_batch": 64, "tokens": 1e10},
          "clusters": [{"node": "dgx-a100-80gb", "nodes": [1, 2, 4], "power_cap_W": [250, 325, 400]}],
          "strategy": {"framework": "megatron-lm", "tensor_parallel": 8},
          "objective": ["energy", "time"], "constraints": {"minimum_goodput_percent": 90, "power_kW": 25}})",
      R"({"workload": {"model": "gpt3-13b", "global_batch": 64, "least_global_batch": 48, "tokens": 1e10,
                       "critical_batch": 64, "stated_at_batch": 128},
          "clusters": [{"node": "dgx-a100-80gb", "nodes": [2, 4], "storage": ["nfs-10gbe", "3fs-deepseek"]}],
          "strategy": {"framework": "megatron-lm", "tensor_parallel": [4, 8]}, "objective": ["cost", "time", "energy"],
          "run": {"reliability": {"interruptions_per_1000_node_days": 40},
                  "phases": [{}, {"kind": "evaluation", "samples": 640, "every_steps": 100}]}})",
      R"({"workload": {"model": "llama3-8b", "global_batch": 64, "seq_len": 8192, "tokens": 1e10},
          "clusters": [{"node": "dgx-h100", "nodes": [1, 2]}],
          "strategy": {"framework": "megatron-lm", "tensor_parallel": [2, 4], "micro_batch": 1, "sharding": "zero-1"},
          "run": {"phases": [{}, {"tokens": 9e9, "seq_len": 32768, "global_batch": 16}]}})",
      R"({"workload": {"model": "gpt3-13b", "global_batch": 64, "tokens": 1e9},
          "clusters": [{"node": "dgx-a100-80gb", "nodes": 2}], "strategy": {"framework": "megatron-lm"},
          "run": {"phases": [{"steps": 100, "time_s": 10}, {}]}})"};
  return kQuestions;
}

class SmallSpace : public testing::TestWithParam<std::string> {};

SearchOptions options(bool prune, int threads = 1, std::size_t keep = 3) {
  SearchOptions out;
  out.prune = prune;
  out.threads = threads;
  out.keep = keep;
  return out;
}

std::vector<std::pair<std::size_t, double>> kept(const std::vector<PlanPoint>& points) {
  std::vector<std::pair<std::size_t, double>> out;
  for (const PlanPoint& p : points) out.emplace_back(p.order, p.figures.step_time.value());
  return out;
}

// Tokens of experts on other nodes go out once where framework and accelerator have it.
TEST(ExpertDispatches, AreSearchedWhereTheyRun) {
  const auto best = [](const char* node) {
    PlanQuestion q = question(fmt::format(R"({{"workload": {{"model": "qwen3-30b-a3b", "global_batch": 64}},
      "clusters": [{{"node": "{}", "nodes": 2}}],
      "strategy": {{"framework": "megatron-lm", "expert_parallel": 16, "micro_batch": 1, "recompute": "full"}}}})",
                                          node));
    return search(q, catalog(), options(true)).best.front().option.dispatch;
  };
  EXPECT_EQ(best("dgx-h100"), ExpertDispatch::deepep);
  EXPECT_EQ(best("dgx-1-v100-32gb"), ExpertDispatch::all_to_all);
}

// One spare for 32 servers that are away three days: runs stand most of the time, and the search knows.
TEST(GoodputOfPlans, HasAFormulaForSparesSpotAndNoCheckpoints) {
  const auto refused = [](const char* run) {
    const PlanQuestion q = question(fmt::format(
        R"({{"workload": {{"model": "llama3-8b", "global_batch": 512, "seq_len": 8192, "tokens": 3e11}},
             "clusters": [{{"node": "aws-p5.48xlarge", "nodes": 32}}],
             "strategy": {{"framework": "megatron-lm", "tensor_parallel": 2, "micro_batch": 1}},
             "constraints": {{"minimum_goodput_percent": 95}}, "run": {}}})",
        run));
    const SearchResult found = search(q, catalog(), options(false));
    return found.tally.feasible == 0 && found.tally.rejected[static_cast<std::size_t>(Rejection::low_goodput)] > 0;
  };
  EXPECT_TRUE(refused(R"({"reliability": {"spares": 1, "interruptions_per_1000_node_days": 40, "repair_h": 72}})"));
  EXPECT_TRUE(refused(R"({"reliability": {"spot": true, "spot_interruptions_per_1000_node_days": 900}})"));
  EXPECT_TRUE(refused(R"({"checkpoint": {"kind": "none"}, "reliability": {"interruptions_per_1000_node_days": 100}})"));
  EXPECT_FALSE(refused(R"({"reliability": {"spot": true, "spot_interruptions_per_1000_node_days": 9}})"));
}

TEST_P(SmallSpace, PruningKeepsTheBestTheBestOfKindsAndTheFront) {
  const PlanQuestion q = question(GetParam());
  const SearchResult pruned = search(q, catalog(), options(true));
  const SearchResult all = search(q, catalog(), options(false));
  ASSERT_FALSE(all.best.empty());
  EXPECT_EQ(kept(pruned.best), kept(all.best));
  EXPECT_EQ(kept(pruned.best_of_kinds), kept(all.best_of_kinds));
  EXPECT_EQ(kept(pruned.front), kept(all.front));
  EXPECT_EQ(pruned.tally.evaluated, all.tally.evaluated);
  EXPECT_EQ(all.tally.rejected[static_cast<std::size_t>(Rejection::slower)], 0);
}

/// The first question with a limit on power that its quickest options break by two per cent in closed form.
PlanQuestion nearly_over_power() {
  PlanQuestion q = question(questions()[0]);
  q.spec.constraints.power = search(q, catalog(), options(true)).best.front().figures.peak_power * 0.98;
  return q;
}

TEST_P(SmallSpace, PruningKeepsWhatTheSimulationMayLetPass) {
  const PlanQuestion q = question(GetParam());
  SearchOptions with = options(true), without = options(false);
  with.forecast = without.forecast = Fidelity::simulated;
  const SearchResult pruned = search(q, catalog(), with), all = search(q, catalog(), without);
  EXPECT_EQ(kept(pruned.best), kept(all.best));
  EXPECT_EQ(kept(pruned.near_limits), kept(all.near_limits));
  EXPECT_EQ(kept(pruned.best_of_kinds), kept(all.best_of_kinds));
  EXPECT_EQ(kept(pruned.front), kept(all.front));
}

// An option that breaks a limit by less than the closed form may be off is left to the simulation, and so is one that
// keeps it by less; none that the simulation might let pass and that is among the best is missed.
TEST(Planner, OptionsNearALimitAreKeptForTheSimulation) {
  const PlanQuestion q = nearly_over_power();
  SearchOptions with = options(true);
  with.forecast = Fidelity::simulated;
  const SearchResult found = search(q, catalog(), with);
  const auto rank = [&](const PlanFigures& figures) {
    return figures.objective[static_cast<std::size_t>(q.objective())];
  };
  std::vector<double> near, firm;
  const std::vector<FamilySpec> families = families_of(q.spec, catalog());
  for (std::size_t f = 0; f < families.size(); ++f) {
    Evaluator evaluator(q, families[f], catalog());
    Tally ignored;
    for (const Block& block : evaluator.space().blocks(f, ignored))
      for (const Option& option : evaluator.space().options(block, ignored)) {
        const auto outcome = evaluator.evaluate(option, {}, Fidelity::simulated);
        if (const PlanFigures* figures = std::get_if<PlanFigures>(&outcome))
          (figures->near_limit ? near : firm).push_back(rank(*figures));
      }
  }
  std::sort(near.begin(), near.end());
  std::sort(firm.begin(), firm.end());
  ASSERT_GE(firm.size(), with.keep);
  ASSERT_FALSE(found.near_limits.empty());
  EXPECT_TRUE(found.near_limits.front().figures.refused) << "the closed form says that it breaks the limit";
  for (std::size_t i = 0; i < with.keep; ++i) EXPECT_EQ(rank(found.best[i].figures), firm[i]);
  for (std::size_t i = 0; i < found.near_limits.size(); ++i) EXPECT_EQ(rank(found.near_limits[i].figures), near[i]);
  EXPECT_EQ(search(q, catalog(), options(true)).near_limits.size(), 0U) << "the closed form has the last word";
}

TEST(Planner, LimitsHaveRoomForWhatTheClosedFormMayBeOff) {
  PlanConstraints limits;
  limits.deadline = 100_s;
  limits.minimum_goodput_percent = 90;
  LimitedFigures figures;
  figures.run_time = 103_s;
  figures.goodput = 0.95;
  EXPECT_EQ(broken_limit(limits, figures)->reason, Rejection::past_deadline);
  EXPECT_FALSE(broken_limit(limits, figures, 0.05));
  figures.run_time = 97_s;
  EXPECT_FALSE(broken_limit(limits, figures));
  EXPECT_TRUE(broken_limit(limits, figures, -0.05));
  figures.goodput = 0.897;  // loses 10.3 % of the time where 10 % may be lost
  EXPECT_EQ(broken_limit(limits, figures)->reason, Rejection::low_goodput);
  EXPECT_FALSE(broken_limit(limits, figures, 0.05));
  figures.run_time.reset();
  EXPECT_EQ(broken_limit(limits, figures, 0.05)->reason, Rejection::past_deadline) << "it never ends";
}

TEST(Planner, PruningSparesMostOfTheCosting) {
  const Tally pruned = search(question(questions()[0]), catalog(), options(true)).tally;
  EXPECT_GT(pruned.rejected[static_cast<std::size_t>(Rejection::slower)], pruned.feasible);
}

TEST_P(SmallSpace, TheNumberOfThreadsChangesNothing) {
  const PlanQuestion q = question(GetParam());
  const SearchResult one = search(q, catalog(), options(true, 1));
  const SearchResult three = search(q, catalog(), options(true, 3));
  EXPECT_EQ(kept(one.best), kept(three.best));
  EXPECT_EQ(one.tally.rejected, three.tally.rejected);
  EXPECT_EQ(one.tally.feasible, three.tally.feasible);
}

TEST_P(SmallSpace, EveryOptionIsCountedOnce) {
  const Tally tally = search(question(GetParam()), catalog(), options(true)).tally;
  long sum = tally.feasible;
  for (const long count : tally.rejected) sum += count;
  EXPECT_EQ(tally.evaluated, sum);
}

/// Calls `visit(evaluator, option)` for every option of a question that no degree rules out.
void each_option(const PlanQuestion& q, const std::function<void(Evaluator&, const Option&)>& visit) {
  const std::vector<FamilySpec> families = families_of(q.spec, catalog());
  for (std::size_t f = 0; f < families.size(); ++f) {
    Evaluator evaluator(q, families[f], catalog());
    Tally ignored;
    for (const Block& block : evaluator.space().blocks(f, ignored))
      for (const Option& option : evaluator.space().options(block, ignored)) visit(evaluator, option);
  }
}

// Brute force with the code that `stepcast run` uses: JSON, resolve, lower, estimate.
TEST_P(SmallSpace, AScenarioReadFromJsonSaysTheSameAsTheQuickWay) {
  const PlanQuestion q = question(GetParam());
  double best = std::numeric_limits<double>::infinity();
  int compared = 0;
  each_option(q, [&](Evaluator& evaluator, const Option& option) {
    const Scenario* quick = evaluator.scenario(option);
    if (quick == nullptr) return;
    const auto outcome = evaluator.evaluate(option, {});
    const PlanFigures* figures = std::get_if<PlanFigures>(&outcome);
    if (figures != nullptr) {
      best = std::min(best, figures->objective[static_cast<std::size_t>(q.objective())]);
      if (!exchanges_apart(*quick)) {
        EXPECT_LE(least_step_time(lower(*quick)), figures->step_time * (1 + 1e-12));
      }
    }
    if (++compared % 7 != 1) return;  // each costs a reading of JSON
    const Json document = to_json(*quick);
    const Scenario slow = resolve(document, "slow", {}, catalog());
    EXPECT_EQ(to_json(slow), document);
    const Job job = lower(slow);
    const MemoryReport memory = memory_of(job);
    const Bytes need = memory.stages[static_cast<std::size_t>(memory.worst_stage)].total();
    EXPECT_EQ(peak_memory(job).need, need);
    EXPECT_EQ(peak_memory(job).fits, memory.fits);
    if (figures == nullptr) return;
    EXPECT_EQ(figures->memory, need);
    EXPECT_EQ(figures->step_time, estimate(job).step_time);
  });
  EXPECT_GT(compared, 20);
  const SearchResult found = search(q, catalog(), options(true));
  EXPECT_EQ(found.best.front().figures.objective[static_cast<std::size_t>(q.objective())], best);
}

// Options whose workers meet otherwise are weighed as they will be forecast, not by the all-reduce that they lack.
TEST(Planner, WeighsUpdatesAsTheyAreForecast) {
  const PlanQuestion q = question(R"({"workload": {"model": "resnet50", "global_batch": 4096, "precision": "fp32"},
      "clusters": [{"node": "aws-p3.16xlarge", "nodes": 8,
                    "fabric": {"nics_per_node": 1, "nic_bandwidth_Gbps": 5, "network": "ethernet_tcp"}}],
      "strategy": {"framework": ["sagemaker-smddp", "pytorch-gossip"], "recompute": "none", "micro_batch": 64},
      "objective": ["energy"]})");
  int compared = 0;
  each_option(q, [&](Evaluator& evaluator, const Option& option) {
    const auto outcome = evaluator.evaluate(option, {});
    const PlanFigures* figures = std::get_if<PlanFigures>(&outcome);
    if (figures == nullptr) return;
    ++compared;
    const Prediction forecast = predict_analytic(*evaluator.scenario(option), catalog());
    EXPECT_NEAR(figures->step_time / forecast.step_time, 1, 1e-9);
    EXPECT_NEAR(figures->average_power / forecast.average_power, 1, 1e-9);
  });
  EXPECT_GE(compared, 2);
}

INSTANTIATE_TEST_SUITE_P(Questions, SmallSpace, testing::ValuesIn(questions()),
                         [](const auto& test) { return fmt::format("question{}", test.index); });

// What does not fit says so for the right reason, whatever the space.
TEST(Planner, ReasonsAreCounted) {
  const SearchResult found = search(question(R"({"workload": {"model": "gpt3-175b", "global_batch": 64},
                          "clusters": [{"node": "dgx-a100-80gb", "nodes": 4}],
                          "strategy": {"framework": "megatron-lm", "tensor_parallel": [3, 8]}})"),
                                    catalog(), options(true));
  EXPECT_TRUE(found.best.empty());
  EXPECT_EQ(found.tally.feasible, 0);
  const auto count = [&](Rejection reason) { return found.tally.rejected[static_cast<std::size_t>(reason)]; };
  EXPECT_EQ(count(Rejection::devices_do_not_divide), 1);  // 3 divides neither devices nor heads
  EXPECT_GT(count(Rejection::memory_under_64) + count(Rejection::memory_beyond), 0);
}

// A dense model has no experts to place, whatever the framework offers.
TEST(Planner, ExpertsThatTheModelLacksAreAReasonOfTheirOwn) {
  const Tally tally = search(question(R"({"workload": {"model": "llama3-8b", "global_batch": 64},
                          "clusters": [{"node": "dgx-h100", "nodes": 2}],
                          "strategy": {"framework": "megatron-lm", "expert_parallel": [1, 8]}})"),
                             catalog(), options(true))
                          .tally;
  EXPECT_GT(tally.rejected[static_cast<std::size_t>(Rejection::no_experts)], 0);
  EXPECT_GT(tally.feasible, 0);
}

TEST(Planner, AStopEndsTheSearchWithTheBestSoFar) {
  std::stop_source stop;
  SearchOptions some = options(true);
  some.stop = stop.get_token();
  some.progress = [&](const PlanProgress&) { stop.request_stop(); };
  const SearchResult found = search(question(questions()[0]), catalog(), some);
  EXPECT_TRUE(found.stopped);
  EXPECT_LT(found.tally.evaluated, search(question(questions()[0]), catalog(), options(true)).tally.evaluated);
}

// With STEPCAST_REGENERATE set, the schema is written anew instead of compared.
TEST(Planner, ShippedSchemaIsTheGeneratedOne) {
  const std::filesystem::path file = STEPCAST_SOURCE_DIR "/planner/plan-question.schema.json";
  const std::string text = plan_question_schema().dump(2) + "\n";
  if (std::getenv("STEPCAST_REGENERATE") != nullptr) write_file(file, text);
  std::ostringstream stored;
  stored << std::ifstream(file).rdbuf();
  EXPECT_EQ(stored.str(), text);
}

TEST(Planner, MoreThanCanBeSearchedIsRefused) {
  EXPECT_THROW(question(R"({"workload": {"model": "gpt3-175b", "global_batch": 8},
                            "clusters": [{"node": "dgx-h100", "nodes": {"from": 1, "to": 1000000}}]})"),
               InputError);
}

TEST(Planner, FaultsOfAQuestionAreAllNamed) {
  try {
    question(R"({"workload": {"model": "gpt3-175b", "global_batch": 8, "least_global_batch": 9},
                 "clusters": [{"node": "dgx-a100-80g", "nodes": {"from": 4, "to": 2}}, {"node": "dgx-h100"}],
                 "objective": "tme"})");
    FAIL() << "no fault was found";
  } catch (const InputError& error) {
    std::set<std::string> pointers;
    for (const Fault& fault : error.faults()) pointers.insert(fault.pointer);
    EXPECT_THAT(pointers, testing::IsSupersetOf({"/clusters/0/nodes", "/objective"}));
  }
  try {
    question(R"({"workload": {"model": "gpt3-175b", "global_batch": 8, "least_global_batch": 9},
                 "clusters": [{"node": "dgx-a100-80g"}, {"node": "dgx-h100"}], "constraints": {"deadline_days": 3}})");
    FAIL() << "no fault was found";
  } catch (const InputError& error) {
    std::set<std::string> pointers;
    for (const Fault& fault : error.faults()) pointers.insert(fault.pointer);
    EXPECT_THAT(pointers, testing::IsSupersetOf(
                              {"/workload/least_global_batch", "/constraints/deadline_days", "/clusters/0/node"}));
  }
}

/// What is said of a question with one cluster and a strategy.
std::string refusal(const std::string& clusters, const std::string& strategy = "{}",
                    const std::string& objective = "\"time\"") {
  try {
    question(R"({"workload": {"model": "llama3-8b", "global_batch": 64}, "clusters": [)" + clusters +
             R"(], "strategy": )" + strategy + R"(, "objective": )" + objective + "}");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// What no option can have is a fault of the question, where the question has it.
TEST(Planner, SettingsOfEveryOptionAreChecked) {
  using testing::HasSubstr;
  const std::string h100 = R"({"node": "dgx-h100", "nodes": [1, 2])";
  EXPECT_THAT(refusal(h100 + R"(, "clock_MHz": 99999})"), HasSubstr("question: /clusters/0/clock_MHz: found 99999"));
  EXPECT_THAT(refusal(h100 + R"(, "clock_MHz": 1})"), HasSubstr("question: /clusters/0/clock_MHz: found 1,"));
  EXPECT_THAT(refusal(h100 + R"(, "power_cap_W": [700, 5]})"), HasSubstr("question: /clusters/0/power_cap_W: found 5"));
  EXPECT_THAT(refusal(h100 + "}", R"({"order": "foo"})"), HasSubstr("question: /strategy/order: found \"foo\""));
  EXPECT_THAT(refusal(h100 + "}", R"({"framework": "megatron-lm", "torch_compile": true})"),
              HasSubstr("question: /strategy/torch_compile"));
  EXPECT_EQ(refusal(h100 + "}", R"({"framework": ["megatron-lm", "pytorch-fsdp"], "torch_compile": true})"), "")
      << "one of the frameworks can";
  EXPECT_THAT(refusal(h100 + "}", R"({"framework": "megatron-lm", "parameters_in_16_bit": true})"),
              HasSubstr("question: /strategy/parameters_in_16_bit: found true, but megatron-lm adds gradients"));
}

TEST(Planner, WhatIsGivenTwiceIsRefused) {
  using testing::HasSubstr;
  const std::string h100 = R"({"node": "dgx-h100", "nodes": [2, 4]})";
  EXPECT_EQ(refusal(h100, R"({"tensor_parallel": [2, 2]})"),
            "question: /strategy/tensor_parallel/1: 2 is given twice; leave one of them out");
  EXPECT_THAT(refusal(R"({"node": "dgx-h100", "nodes": [2, 2]})"), HasSubstr("/clusters/0/nodes/1: 2 is given twice"));
  EXPECT_THAT(refusal(h100, "{}", R"(["time", "time"])"), HasSubstr("/objective/1: \"time\" is given twice"));
  EXPECT_EQ(refusal(h100 + "," + h100),
            "question: /clusters/1: 2 × dgx-h100 is a choice of /clusters/0 already; leave it out of one of them");
  EXPECT_EQ(
      refusal(h100 + R"(, {"node": "dgx-h100", "nodes": [8]}, {"node": "dgx-h100", "nodes": 4, "clock_MHz": 1200})"),
      "");
  EXPECT_THAT(refusal(h100, "{}", "[]"), HasSubstr("/objective: found an empty list, which leaves nothing to choose; "
                                                   "name one at least, or leave it out for the default"));
}

}  // namespace
}  // namespace stepcast::planner_property_test
