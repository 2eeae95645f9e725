// `stepcast plan` through the real program: answers, files, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/e2e/process.hpp"

namespace stepcast::plan_command_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// A question that takes a second: one server or two, for a model that fits them.
Json small_question() {
  return {{"name", "13B on A100; rm -rf $(HOME) `x` \"quoted\" 'too'"},
          {"workload", {{"model", "gpt3-13b"}, {"global_batch", 64}, {"tokens", 1e9}}},
          {"clusters", {{{"node", "dgx-a100-80gb"}, {"nodes", {1, 2}}}}},
          {"strategy", {{"framework", "megatron-lm"}, {"tensor_parallel", {4, 8}}}}};
}

class PlanCommand : public testing::Test {
 protected:
  std::string file(const Json& question) const {
    const std::string out = (folder_ / "question.json").string();
    write_file(out, question.dump());
    return out;
  }
  Json answer(const Json& question, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"plan", file(question), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = stepcast_run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.json();
  }
  ScratchFolder folder_;
};

// Ring, the usual way of context parallelism, is none of sparse attention's.
TEST_F(PlanCommand, FindsContextParallelismOfSparseAttention) {
  const Json question{{"name", "V3.2"},
                      {"workload", {{"model", "deepseek-v3.2"}, {"global_batch", 64}, {"seq_len", 131072}}},
                      {"clusters", {{{"node", "dgx-h200"}, {"nodes", {32}}}}},
                      {"strategy",
                       {{"framework", "megatron-bridge-26.06"},
                        {"tensor_parallel", {1}},
                        {"context_parallel", {8}},
                        {"expert_parallel", {64}},
                        {"recompute", {"full"}}}}};
  const Json plan = answer(question, {"--fidelity", "analytic"});
  EXPECT_GT(plan.at("feasible").get<long>(), 0);
  EXPECT_EQ(plan["candidates"][0]["scenario"]["strategy"]["context_method"], "all-gather");
}

TEST_F(PlanCommand, RanksCandidatesThatRunAsTheySay) {
  const Json plan = answer(small_question(), {"--top", "3"});
  long sum = plan.at("feasible").get<long>();
  for (const auto& [reason, count] : plan.at("rejected").items()) sum += count.get<long>();
  EXPECT_EQ(plan.at("evaluated").get<long>(), sum);
  ASSERT_GE(plan.at("candidates").size(), 3U);
  double last = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& candidate = plan["candidates"][i];
    EXPECT_GE(candidate.at("step_time_s").get<double>(), last);
    last = candidate["step_time_s"];
    EXPECT_LT(candidate.at("interval_s")[0], candidate["step_time_s"]);
    EXPECT_GT(candidate.at("interval_s")[1], candidate["step_time_s"]);
    EXPECT_THAT((std::vector<std::string>{"A", "B", "C", "D"}), Contains(candidate.at("evidence").get<std::string>()));
    EXPECT_GT(candidate.at("tokens_per_s").get<double>(), 0);
    EXPECT_FALSE(candidate.at("binding").empty());
    EXPECT_TRUE(candidate.at("cost").is_object());
    EXPECT_GT(candidate.at("energy").at("per_step_J").get<double>(), 0);
  }
  // What was ranked is what `run` says of the scenario.
  const std::string scenario = (folder_ / "best.json").string();
  write_file(scenario, plan["candidates"][0].at("scenario").dump());
  const Finished run = stepcast_run({"run", scenario, "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.json().at("step_time_s"), plan["candidates"][0]["step_time_s"]);
}

// Of Horovod nothing was measured with this model, but its rules forbid tensor parallelism: measuring decides nothing.
TEST_F(PlanCommand, NamesWhatToMeasureOfWhatMayRun) {
  const auto to_measure = [&](const Json& degrees) {
    Json question = small_question();
    question["clusters"] = {{{"node", "dgx-h100"}, {"nodes", {1}}}};
    question["strategy"] = {{"framework", {"megatron-lm", "horovod"}}, {"tensor_parallel", degrees}};
    question["workload"]["model"] = "gpt3-1.3b";
    std::vector<std::string> out;
    const Json plan = answer(question, {"--fidelity", "analytic"});
    for (const Json& one : plan.at("to_measure")) out.push_back(one.at("framework"));
    return out;
  };
  EXPECT_THAT(to_measure({1, 2}), testing::UnorderedElementsAre("megatron-lm", "horovod"));
  EXPECT_THAT(to_measure({2}), testing::ElementsAre("megatron-lm"));
}

TEST_F(PlanCommand, SaysTheSameEveryTimeAndWithAnyNumberOfJobs) {
  const Json one = answer(small_question(), {"--jobs", "1"});
  EXPECT_EQ(one, answer(small_question(), {"--jobs", "3"}));
}

TEST_F(PlanCommand, SeveralObjectivesMakeAFront) {
  Json question = small_question();
  question["objective"] = {"time", "energy"};
  const Json plan = answer(question, {"--fidelity", "analytic"});
  ASSERT_FALSE(plan.at("pareto").empty());
  for (const Json& a : plan["pareto"])
    for (const Json& b : plan["pareto"]) {
      const bool no_worse = a.at("per_sample").at("time") <= b.at("per_sample").at("time") &&
                            a["per_sample"].at("energy") <= b["per_sample"].at("energy");
      EXPECT_TRUE(!no_worse || a == b) << "one point of the front is beaten by another";
    }
}

// A lower cap costs time and spares energy, so energy and time ask for different ones; each cap is an option by itself,
// and one at the board limit of 400 W is none.
TEST_F(PlanCommand, ChoosesAPowerCapByTheObjective) {
  Json question = small_question();
  question["clusters"][0]["power_cap_W"] = {250, 400};
  question["clusters"][0]["nodes"] = 1;
  const auto best_cap = [&](const char* objective) {
    question["objective"] = objective;
    const Json plan = answer(question, {"--fidelity", "analytic", "--top", "1"});
    return plan.at("candidates").at(0).at("scenario").at("cluster").value("power_cap_W", Json());
  };
  EXPECT_EQ(best_cap("time"), Json());
  EXPECT_EQ(best_cap("energy"), 250);
}

// Interruptions grow with the nodes: a limit between the goodput of one node and of four leaves the one.
TEST_F(PlanCommand, GoodputIsALimitAndItsRejectionsAreCounted) {
  Json question = small_question();
  question["workload"]["tokens"] = 1e11;
  question["run"] = {{"reliability", {{"interruptions_per_1000_node_days", 2000}}}};
  const auto with_nodes = [&](const Json& nodes) {
    question["clusters"][0]["nodes"] = nodes;
    return answer(question, {"--fidelity", "analytic", "--top", "100"});
  };
  const auto best_goodput = [&](int nodes) {
    return with_nodes(nodes).at("candidates").at(0).at("goodput").get<double>();
  };
  const double one = best_goodput(1), four = best_goodput(4);
  ASSERT_GT(one, four + 0.01);
  question["constraints"]["minimum_goodput_percent"] = 100 * (one + four) / 2;
  const Json limited = with_nodes({1, 4});
  EXPECT_GT(limited.at("rejected").value("less goodput than wanted", 0), 0);
  ASSERT_FALSE(limited.at("candidates").empty());
  for (const Json& candidate : limited["candidates"]) EXPECT_EQ(candidate.at("scenario").at("cluster").at("nodes"), 1);
  question["constraints"]["minimum_goodput_percent"] = 100;
  EXPECT_TRUE(with_nodes(1).at("candidates").empty());
}

TEST_F(PlanCommand, WritesScenariosLaunchFilesAndBills) {
  const std::string out = (folder_ / "answer").string();
  const Finished run = stepcast_run({"plan", file(small_question()), "-o", out, "--top", "2"});
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* name : {"plan.json", "plan.txt", "option-1/scenario.json", "option-1/megatron-arguments.txt",
                           "option-1/launch.sh", "option-1/job.slurm", "option-1/bill-of-materials.csv", "option-2"})
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / name)) << name;
  const std::string arguments = read_text(std::filesystem::path(out) / "option-1/megatron-arguments.txt");
  EXPECT_THAT(arguments, HasSubstr("--num-layers 40\n"));
  EXPECT_THAT(arguments, HasSubstr("--global-batch-size 64\n"));
  EXPECT_THAT(read_text(std::filesystem::path(out) / "option-1/bill-of-materials.csv"), HasSubstr("dgx-a100-80gb"));
  for (const char* script : {"option-1/launch.sh", "option-1/job.slurm"}) {
    const std::string path = (std::filesystem::path(out) / script).string();
    EXPECT_THAT(read_text(path), Not(HasSubstr("rm -rf"))) << "what the user wrote is in a script";
    EXPECT_EQ(std::system(("bash -n " + path).c_str()), 0);
  }
  const Finished check = stepcast_run({"scenario", "check", out + "/option-1/scenario.json"});
  EXPECT_EQ(check.code, 0) << check.out;
}

// Few interruptions a trial make the mean of simulated runs one of chance: the formula decides in search and forecast.
TEST_F(PlanCommand, GoodputIsJudgedByTheFormula) {
  Json question = small_question();
  question["clusters"][0]["nodes"] = 1;
  question["strategy"]["tensor_parallel"] = 8;
  question["run"] = {{"reliability", {{"interruptions_per_1000_node_days", 1}}}};
  const auto plan = [&] { return answer(question, {"--fidelity", "analytic", "--top", "1"}); };
  const std::string scenario = (folder_ / "scenario.json").string();
  write_file(scenario, plan().at("candidates").at(0).at("scenario").dump());
  const double formula =
      stepcast_run({"run", scenario, "--json", "--fidelity", "analytic"}).json()["goodput"]["formula"];
  ASSERT_LT(formula, 1);
  question["constraints"]["minimum_goodput_percent"] = 100 * (1 - 1.001 * (1 - formula));
  const Json kept = plan().at("candidates");
  ASSERT_FALSE(kept.empty());
  EXPECT_THAT(kept[0].at("binding").dump(), AllOf(HasSubstr("lost time"), Not(HasSubstr("0.0 % of 0.0 %"))));
  question["constraints"]["minimum_goodput_percent"] = 100 * (1 - 0.2 * (1 - formula));
  EXPECT_TRUE(plan().at("candidates").empty());
}

// An option of the closed form is run by it, so that `run` finds the figures of the plan again.
TEST_F(PlanCommand, OptionsRunAsTheyWereForecast) {
  for (const char* fidelity : {"analytic", "simulated"}) {
    const Json candidate = answer(small_question(), {"--fidelity", fidelity, "--top", "1"})["candidates"][0];
    EXPECT_EQ(candidate["scenario"]["run"]["fidelity"], fidelity);
    const std::string scenario = (folder_ / "scenario.json").string();
    write_file(scenario, candidate["scenario"].dump());
    const double ran = stepcast_run({"run", scenario, "--json"}).json()["step_time_s"];
    EXPECT_NEAR(ran / candidate["step_time_s"].get<double>(), 1, 1e-9) << fidelity;
  }
}

// Four leaves of 144 ports are no four switches of 64: plan and bill say so, and the price is that of them all.
TEST_F(PlanCommand, NamesSwitchesLargerThanAny) {
  const Json question{{"workload", {{"model", "llama3-8b"}, {"global_batch", 1152}}},
                      {"clusters", {{{"node", "gb200-nvl72"}, {"nodes", {4}}}}},
                      {"strategy", {{"framework", "megatron-lm"}, {"tensor_parallel", {4}}}}};
  const Json candidate = answer(question, {"--fidelity", "analytic", "--top", "1"})["candidates"][0];
  ASSERT_EQ(candidate["network"].size(), 1U);
  EXPECT_EQ(candidate["network"][0],
            "4 leaf switches of up to 144 ports of 400 Gb/s taken for at least 12 qm9700 of 64 ports, without cables "
            "between them");
  EXPECT_THAT(stepcast_run({"plan", file(question), "--fidelity", "analytic", "--top", "1"}).out,
              HasSubstr("    network: 4 leaf switches of up to 144 ports"));
}

// Options that differ in their terms alone say which they are, as candidates and on the front.
TEST_F(PlanCommand, SaysOnWhichTermsMachinesAreHad) {
  Json question = small_question();
  const Json machine{{"node", "aws-p4d.24xlarge"}, {"nodes", {2}}};
  question["clusters"] = Json::array({machine, machine, machine, machine});
  question["clusters"][1]["cost"] = {{"node_rent_usd_per_h", 7.5}};
  question["clusters"][2]["cost"] = {{"node_purchase_usd", 90000}, {"amortisation_years", 3}};
  question["clusters"][3]["cost"] = {{"basis", "spot"}};
  question["strategy"] = {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"micro_batch", 1}};
  question["objective"] = {"cost", "time"};
  const Finished run = stepcast_run({"plan", file(question), "--fidelity", "analytic", "--top", "1000"});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string front = run.out.substr(run.out.find("Pareto front"));
  for (const char* terms : {"megatron-lm · rented at $7.50/h", "megatron-lm · bought at $90,000 · over 3 years",
                            "megatron-lm · spot", "\n    cost: on demand, ",
                            "\n    cost: rented at $7.50 an hour a node, as", "\n    cost: bought at $90,000 a node"})
    EXPECT_THAT(run.out, HasSubstr(terms));
  EXPECT_THAT(front, testing::ContainsRegex("aws-p4d.24xlarge · megatron-lm · (rented|bought) at [^\n]* t8 p"));
}

// A budget to buy is about what the terms say: stated prices, and nothing where servers are rented.
TEST_F(PlanCommand, BudgetsToBuyAreOnTheTermsOfTheQuestion) {
  Json question = small_question();
  question["clusters"] = Json::parse(R"([{"node": "dgx-h100", "nodes": 2,
      "cost": {"node_purchase_usd": 100000, "network_purchase_usd": 50000}}, {"node": "aws-p5.48xlarge", "nodes": 2}])");
  question["strategy"] = {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"micro_batch", 1}};
  question["constraints"] = {{"budget_to_buy_usd", 300000}};
  std::map<std::string, double> prices;
  const Json all = answer(question, {"--fidelity", "analytic", "--top", "1000"});
  for (const Json& candidate : all["candidates"])
    prices[candidate["scenario"]["cluster"]["node"].get<std::string>()] = candidate["cost"]["to_buy_usd"].get<double>();
  EXPECT_EQ(prices, (std::map<std::string, double>{{"dgx-h100", 250000}, {"aws-p5.48xlarge", 0}}));
}

// Fabrics and storage that a question lets choose from are named wherever an option is.
TEST_F(PlanCommand, SaysWhichFabricAndStorageAnOptionHas) {
  Json question = small_question();
  question["clusters"] = Json::parse(R"([{"node": "dgx-h100", "nodes": 4, "site": "fi-hamina",
      "fabric": [{"preset": "rail-only"}, {"oversubscription": 4}], "storage": ["nfs-10gbe", "3fs-deepseek"]}])");
  question["strategy"] = {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"micro_batch", 1}};
  question["objective"] = {"time", "cost"};
  const Finished run = stepcast_run({"plan", file(question), "--fidelity", "analytic", "--top", "1000"});
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* words : {"megatron-lm · fabric rail-only · storage 3fs-deepseek · site fi-hamina",
                            "megatron-lm · fabric's oversubscription 4 · storage nfs-10gbe", "nfs-10gbe left out"})
    EXPECT_THAT(run.out, HasSubstr(words));
  EXPECT_THAT(run.out.substr(run.out.find("Pareto front")), HasSubstr(" · storage "));
}

// What is ranked is what is shown: storage that stalls checkpoints makes the run longer, whatever the step takes.
TEST_F(PlanCommand, RanksByTheRunAndNotByItsStep) {
  Json question = small_question();
  question["workload"] = {{"model", "llama3-70b"}, {"global_batch", 512}, {"seq_len", 8192}, {"tokens", 1e11}};
  question["strategy"] = {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"micro_batch", 1}};
  for (const char* objective : {"cost", "time"}) {
    question["objective"] = objective;
    for (const Json& storage : {Json{"nfs-10gbe", "3fs-deepseek"}, Json{"3fs-deepseek", "nfs-10gbe"}}) {
      question["clusters"] = Json::array({{{"node", "dgx-h100"}, {"nodes", 32}, {"storage", storage}}});
      const Json candidates = answer(question, {"--fidelity", "analytic", "--top", "8"})["candidates"];
      EXPECT_EQ(candidates[0]["scenario"]["cluster"]["storage"], "3fs-deepseek");
      for (std::size_t i = 1; i < candidates.size(); ++i)
        if (!candidates[i]["of_other_kind"].get<bool>()) {
          EXPECT_GE(candidates[i]["time_to_train_s"], candidates[i - 1]["time_to_train_s"]);
        }
    }
  }
}

// Phases with steps of their own are a part of the run, and the rank counts them.
TEST_F(PlanCommand, RanksByAllPhases) {
  Json question = small_question();
  question["workload"] = {{"model", "llama3-8b"}, {"global_batch", 512}, {"seq_len", 8192}, {"tokens", 1e11}};
  question["clusters"] = Json::parse(R"([{"node": "dgx-h100", "nodes": 8}])");
  question["strategy"] = {{"framework", "megatron-lm"}, {"sharding", "zero-1"}, {"micro_batch", 1}};
  question["run"]["phases"] =
      Json::parse(R"([{"name": "short"}, {"name": "long", "tokens": 9e10, "seq_len": 65536, "global_batch": 64}])");
  const Json candidates = answer(question, {"--fidelity", "analytic", "--top", "6"})["candidates"];
  ASSERT_GT(candidates.size(), 3U);
  bool steps_in_order = true;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    EXPECT_GE(candidates[i]["time_to_train_s"], candidates[i - 1]["time_to_train_s"]);
    steps_in_order = steps_in_order && candidates[i]["step_time_s"] >= candidates[i - 1]["step_time_s"];
  }
  EXPECT_FALSE(steps_in_order);
}

// What an earlier plan wrote is no part of this one; what somebody else put there is theirs.
TEST_F(PlanCommand, LeavesNoOptionsOfAnEarlierPlan) {
  const std::filesystem::path out = folder_ / "answer";
  const auto write = [&](const char* top) {
    ASSERT_EQ(
        stepcast_run({"plan", file(small_question()), "-o", out.string(), "--fidelity", "analytic", "--top", top}).code,
        0);
  };
  write("4");
  ASSERT_TRUE(std::filesystem::exists(out / "option-4"));
  write_file((out / "option-3/notes.txt").string(), "mine");
  write("1");
  const std::size_t now = Json::parse(read_text(out / "plan.json")).at("candidates").size();
  ASSERT_LT(now, 3U);
  EXPECT_FALSE(std::filesystem::exists(out / "option-4"));
  EXPECT_FALSE(std::filesystem::exists(out / "option-3/scenario.json"));
  EXPECT_TRUE(std::filesystem::exists(out / "option-3/notes.txt"));
}

TEST_F(PlanCommand, NothingThatFitsIsAnAnswerToo) {
  Json question = small_question();
  question["workload"]["model"] = "turing-530b";
  const Json plan = answer(question);
  EXPECT_TRUE(plan.at("candidates").empty());
  EXPECT_EQ(plan.at("feasible"), 0);
  EXPECT_GT(plan.at("evaluated").get<long>(), 0);
}

// Who asks for too much is told how much there is.
TEST_F(PlanCommand, ThatMissesEveryLimitSaysByHowMuch) {
  Json question = small_question();
  const double days =
      answer(question, {"--fidelity", "analytic"})["candidates"][0]["time_to_train_s"].get<double>() / 86400;
  question["constraints"] = {{"deadline_days", days / 2}};
  const Json nearest = answer(question, {"--fidelity", "analytic"})["nearest_misses"]["past the deadline"];
  EXPECT_NEAR(nearest.at("days").get<double>(), days, 0.01 * days);
  const Finished text = stepcast_run({"plan", file(question), "--fidelity", "analytic"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("No option keeps every limit."));
  EXPECT_THAT(text.out, testing::ContainsRegex("past the deadline .*nearest: "));
  question["constraints"] = {{"deadline_days", 2 * days}};
  EXPECT_TRUE(answer(question, {"--fidelity", "analytic"})["nearest_misses"].empty()) << "one keeps it";
}

// The limits on a run are on its phases, as its forecast is; steps of a shorter sequence are other steps.
TEST_F(PlanCommand, LimitsOfARunCountItsPhases) {
  for (const Json& phase :
       {Json{{"kind", "train"}, {"tokens", 1e8}}, Json{{"kind", "train"}, {"tokens", 1e8}, {"seq_len", 1024}}}) {
    Json question = small_question();
    question["run"]["phases"] = Json::array({phase});
    const Json unlimited = answer(question, {"--fidelity", "analytic"});
    const double days = unlimited["candidates"][0]["time_to_train_s"].get<double>() / 86400;
    question["constraints"] = {{"deadline_days", 1.05 * days}};
    const Json kept = answer(question, {"--fidelity", "analytic"});
    ASSERT_FALSE(kept["candidates"].empty()) << phase.dump();
    EXPECT_DOUBLE_EQ(kept["candidates"][0]["time_to_train_s"].get<double>() / 86400, days) << phase.dump();
    question["constraints"] = {{"deadline_days", 0.95 * days}};
    EXPECT_TRUE(answer(question, {"--fidelity", "analytic"})["candidates"].empty()) << phase.dump();
  }
}

/// A question that leaves one option, that of a candidate, and a deadline between its run in closed form and simulated.
Json only(const Json& candidate, Json question) {
  const Json& scenario = candidate.at("scenario");
  question["clusters"][0]["nodes"] = scenario.at("cluster").at("nodes");
  for (const char* key : {"tensor_parallel", "pipeline_parallel", "context_parallel", "virtual_pipeline", "micro_batch",
                          "schedule", "recompute", "sharding", "sequence_parallel"})
    if (scenario.at("strategy").contains(key)) question["strategy"][key] = scenario["strategy"][key];
  const double simulated = candidate.at("step_time_s"), closed = candidate.at("closed_form_step_time_s");
  const double days = candidate.at("time_to_train_s").get<double>() / 86400;
  question["constraints"] = {{"deadline_days", days * (simulated + closed) / (2 * simulated)}};
  return question;
}

// Limits are kept or broken by what is shown. The closed form errs to both sides of it.
TEST_F(PlanCommand, LimitsAreThoseOfTheSimulatedStep) {
  Json question = small_question();
  // The closed form does not play the order of interleaved passes, nor how each one's reductions meet on a slow
  // network.
  question["clusters"][0]["nodes"] = 4;
  question["clusters"][0]["fabric"] = {{"nic_bandwidth_Gbps", 25}};
  question["strategy"] = {{"framework", "megatron-lm"},
                          {"tensor_parallel", 4},
                          {"pipeline_parallel", {4, 8}},
                          {"sharding", {"zero-1", "zero-2"}},
                          {"schedule", "interleaved-1f1b"}};
  const Json candidates = answer(question, {"--top", "60"}).at("candidates");
  const auto ratio = [](const Json& c) {
    return c.at("step_time_s").get<double>() / c.at("closed_form_step_time_s").get<double>();
  };
  const auto [quicker, slower] = std::minmax_element(candidates.begin(), candidates.end(),
                                                     [&](const Json& a, const Json& b) { return ratio(a) < ratio(b); });
  ASSERT_LT(ratio(*quicker), 0.995);
  ASSERT_GT(ratio(*slower), 1.005);
  const std::vector<std::string> analytic{"--fidelity", "analytic"};
  EXPECT_EQ(answer(only(*slower, question), analytic).at("candidates").size(), 1U);
  const Json late = answer(only(*slower, question));
  EXPECT_TRUE(late.at("candidates").empty());
  EXPECT_EQ(late.at("feasible"), 0);
  EXPECT_EQ(late.at("rejected").value("past the deadline when simulated", 0), 1);
  EXPECT_TRUE(late.at("nearest_misses").contains("past the deadline when simulated"));
  EXPECT_TRUE(answer(only(*quicker, question), analytic).at("candidates").empty());
  const Json in_time = answer(only(*quicker, question));
  EXPECT_EQ(in_time.at("candidates").size(), 1U);
  EXPECT_EQ(in_time.at("feasible"), 1);
  EXPECT_FALSE(in_time.at("rejected").contains("past the deadline"));
  Json of_two = only(*quicker, question);
  of_two["objective"] = {"time", "energy"};
  EXPECT_EQ(answer(of_two).at("pareto").size(), 1U) << "what the simulation lets pass is on the front";
}

// Eleven servers break the limit by their peak in closed form, all devices at products at once. Simulated, those that
// are capped keep it, and are faster than eight, which keep it anyway.
TEST_F(PlanCommand, WhatMayKeepALimitIsSimulatedUntilNoneMayBeBest) {
  Json question = small_question();
  question["workload"] = {
      {"model", "llama3-8b"}, {"global_batch", 512}, {"least_global_batch", 400}, {"seq_len", 8192}};
  question["clusters"] = {{{"node", "dgx-h100"}, {"nodes", {8, 11}}, {"power_cap_W", {500, 700}}}};
  question["strategy"] = {{"framework", "megatron-lm"}};
  question["constraints"] = {{"power_kW", 130}};
  const Json found = answer(question, {"--top", "3"});
  const Json& best = found.at("candidates").at(0);
  EXPECT_EQ(best.at("scenario").at("cluster").at("nodes"), 11);
  EXPECT_EQ(best.at("scenario").at("cluster").at("power_cap_W"), 500);
}

TEST_F(PlanCommand, FaultsAreNamedAndNothingIsWritten) {
  Json question = small_question();
  question["clusters"][0]["node"] = "dgx-a100-80g";
  const std::string out = (folder_ / "answer").string();
  const Finished run = stepcast_run({"plan", file(question), "-o", out});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("/clusters/0/node"));
  EXPECT_THAT(run.err, HasSubstr("did you mean \"dgx-a100-80gb\""));
  EXPECT_FALSE(std::filesystem::exists(out));
  question = small_question();
  question["strategy"]["framework"] = {"megatron-lm", "pytorch-fsd"};
  EXPECT_THAT(stepcast_run({"plan", file(question)}).err, HasSubstr("/strategy/framework/1: "));
  const Finished scenario = stepcast_run({"plan", scenario_file("gpt3-175b-a100-1024")});
  EXPECT_EQ(scenario.code, 2);
  EXPECT_THAT(scenario.err, HasSubstr("this is a scenario"));
}

// The shipped questions: at least Calculon's 8,112 configurations, and an answer each.
TEST(ShippedQuestions, AreAnswered) {
  for (const char* name : {"plan-turing-530b-5128", "plan-llama3-8b-deadline"}) {
    SCOPED_TRACE(name);
    const Finished run = stepcast_run({"plan", scenario_file(name), "--json", "--fidelity", "analytic"});
    ASSERT_EQ(run.code, 0) << run.err;
    const Json plan = run.json();
    EXPECT_GE(plan.at("evaluated").get<long>(), 8112);
    EXPECT_FALSE(plan.at("candidates").empty());
  }
}

}  // namespace
}  // namespace stepcast::plan_command_test
