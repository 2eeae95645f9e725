// What a run takes whose phases differ in their cluster, and what each is held to: memory, limits, failures, prices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/memory/memory.hpp"
#include "models/power/device_power.hpp"
#include "models/reliability/goodput.hpp"
#include "planner/plan.hpp"
#include "report/json.hpp"
#include "report/outlook_text.hpp"
#include "report/predict.hpp"
#include "report/run_outlook.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::run_parts_test {
namespace {

using test::catalog;
using test::shipped;
using testing::Contains;
using testing::HasSubstr;

/// Llama 3 8B on eight DGX H100.
Scenario eight_nodes(const std::vector<std::string>& terms) {
  Json json = Json::parse(R"({
    "cluster": {"node": "dgx-h100", "nodes": 8, "fabric": {"preset": "fat-tree"}},
    "workload": {"model": "llama3-8b", "global_batch": 128, "seq_len": 8192, "precision": "bf16", "tokens": 1e11},
    "strategy": {"framework": "megatron-lm", "tensor_parallel": 2, "sequence_parallel": true, "micro_batch": 1,
                 "sharding": "zero-1"}})");
  Diagnostics diagnostics("test");
  for (const std::string& term : terms) apply_override(json, term, diagnostics);
  diagnostics.throw_if_faulty();
  return resolve(std::move(json), "test", {}, catalog());
}

Prediction predicted(const std::vector<std::string>& terms) {
  return predict_analytic(eight_nodes(terms), catalog(), MemoryAdvice::none);
}

const char* const kPhaseOn32 = R"(run.phases=[{"name":"more","set":["cluster.nodes=32"]}])";

TEST(RunMemory, IsThatOfThePhaseThatLeavesLeast) {
  const Prediction whole = predicted({"workload.seq_len=131072", "workload.global_batch=32"});
  const Prediction phased =
      predicted({R"(run.phases=[{"name":"long","tokens":1e10,"seq_len":131072,"global_batch":32},{"name":"short"}])"});
  EXPECT_FALSE(whole.memory.fits);
  EXPECT_FALSE(phased.memory.fits);
  EXPECT_EQ(phased.memory.phase, "long");
  EXPECT_EQ(phased.memory.over_device(), whole.memory.over_device());
  EXPECT_EQ(to_json(phased).at("memory").at("phase"), "long");
  EXPECT_EQ(prediction_from_json(to_json(phased)).memory.phase, "long");
  EXPECT_EQ(predicted({R"(run.phases=[{"tokens":1e10,"set":["strategy.sharding=none"]},{}])"}).memory.phase, "phase 1");
  EXPECT_EQ(predicted({R"(run.phases=[{"tokens":1e10,"global_batch":64},{}])"}).memory.phase, "");
}

TEST(RunMemory, OfAPhaseRulesPlansOut) {
  const auto candidates = [](const char* phases) {
    Json json = Json::parse(R"({
      "workload": {"model": "llama3-8b", "global_batch": 128, "seq_len": 8192, "tokens": 1e11},
      "clusters": [{"node": "dgx-h100", "nodes": 8}],
      "strategy": {"framework": "megatron-lm", "tensor_parallel": 2, "pipeline_parallel": 1, "context_parallel": 1,
                   "recompute": "none", "sharding": "zero-1"},
      "run": {"fidelity": "analytic"}})");
    json["run"]["phases"] = Json::parse(phases);
    return plan(read_plan_question(std::move(json), "question", {}, catalog()), catalog(),
                {.fidelity = Fidelity::analytic})
        .candidates.size();
  };
  EXPECT_GT(candidates(R"([{"tokens":1e10,"global_batch":64},{}])"), 0U);
  EXPECT_EQ(candidates(R"([{"tokens":1e10,"seq_len":131072,"global_batch":32},{}])"), 0U);
}

TEST(RunLimits, HoldForThePhaseThatPeaksHighest) {
  const FacilityOutlook facility =
      predicted({"cluster.power_cap_W=400", "cluster.facility.site_limit_kW=100",
                 R"(run.phases=[{"name":"hot","tokens":1e10,"set":["cluster.power_cap_W=700"]},{}])"})
          .outlook->facility;
  EXPECT_THAT(facility.exceeded, Contains(HasSubstr("in phase hot, the site peaks at")));
  EXPECT_EQ(facility.peak_phase, "hot");
  EXPECT_GT(*facility.phase_peak, 100_kW);
}

// Four times the nodes fail four times as often.
TEST(RunFailures, AreThoseOfThePhasesNodes) {
  const std::vector<std::string> often{"run.reliability.rate_factor=100"};
  const auto goodput = [&](std::vector<std::string> terms) {
    terms.insert(terms.end(), often.begin(), often.end());
    return predicted(terms).outlook->goodput;
  };
  const GoodputOutlook phased = goodput({kPhaseOn32}), whole = goodput({"cluster.nodes=32"}), eight = goodput({});
  EXPECT_NEAR(*phased.between_interruptions / *whole.between_interruptions, 1, 1e-9);
  EXPECT_NEAR(phased.formula, whole.formula, 1e-6);
  EXPECT_NEAR(phased.mean, whole.mean, 0.002);
  EXPECT_NEAR(*eight.between_interruptions / *whole.between_interruptions, 4, 1e-9);
}

TEST(RunFailures, OfPartsAddUp) {
  const auto run = [](const char* phases) {
    return *predicted({"run.reliability.rate_factor=100", std::string("run.phases=") + phases}).outlook;
  };
  const RunOutlook both = run(R"([{"tokens":5e10},{"tokens":5e10,"set":["cluster.nodes=32"]}])");
  const RunOutlook first = run(R"([{"tokens":5e10}])"), second = run(R"([{"tokens":5e10,"set":["cluster.nodes=32"]}])");
  EXPECT_NEAR(both.run->time / (first.run->time + second.run->time), 1, 0.005);
  EXPECT_NEAR(*both.run->cost / (*first.run->cost + *second.run->cost), 1, 0.005);
  EXPECT_NEAR(both.goodput.interruptions / (first.goodput.interruptions + second.goodput.interruptions), 1, 0.1);
}

// Nothing fails and nothing is saved: a phase on its own takes what a scenario that says the same does.
TEST(RunTotals, AreThoseOfScenariosThatSayTheSame) {
  const std::vector<std::string> calm{"run.reliability.rate_factor=0", "run.checkpoint.kind=none"};
  const auto run = [&](std::vector<std::string> terms) {
    terms.insert(terms.end(), calm.begin(), calm.end());
    return predicted(terms);
  };
  for (const char* term : {"cluster.nodes=32", "cluster.fabric.preset=rail-optimized", "cluster.site=fr-paris",
                           "cluster.facility.pue=1.1", "cluster.power_cap_W=300", "cluster.node=aws-p5.48xlarge"}) {
    const Prediction whole = run({term});
    const Prediction phased = run({fmt::format(R"(run.phases=[{{"set":["{}"]}}])", term)});
    EXPECT_NEAR(phased.outlook->run->energy / whole.outlook->run->energy, 1, 1e-6) << term;
    EXPECT_NEAR(*phased.run_cost / *whole.run_cost, 1, 1e-6) << term;
    EXPECT_NEAR(*phased.outlook->carbon.run_kg / *whole.outlook->carbon.run_kg, 1, 1e-6) << term;
  }
}

// What a bought cluster pays is its purchase over the run's time, and electricity for what the run draws.
TEST(RunCost, PaysForTheEnergyThatTheRunDraws) {
  const auto electricity = [](std::vector<std::string> terms) {
    const auto priced = [&](const char* price) {
      std::vector<std::string> all = terms;
      all.emplace_back(fmt::format("cluster.cost.electricity_usd_per_kWh={}", price));
      return predicted(all);
    };
    const Prediction free = priced("0"), paid = priced("0.5");
    const double per_kWh = (*paid.run_cost - *free.run_cost).in(1_usd) / paid.outlook->run->energy.in(1_kWh);
    EXPECT_NEAR(per_kWh, 0.5, 1e-6) << terms.front();
  };
  electricity({R"(run.phases=[{"set":["cluster.power_cap_W=200"]}])"});
  electricity({R"(run.phases=[{"kind":"startup","time_s":1e6},{}])"});
  electricity({"run.reliability.spares=0", "run.reliability.rate_factor=100"});
}

// A run that saves nothing: M·(e^(W/M) − 1)·e^(R/M) in the mean (Daly's eq. 20 with one interval).
TEST(RunTime, IsTheMeanOverTrials) {
  const Prediction p =
      predicted({"run.checkpoint.kind=none", "run.reliability.rate_factor=40", "run.reliability.trials=4000"});
  const GoodputOutlook& goodput = p.outlook->goodput;
  const Seconds work = goodput.horizon, mean = *goodput.between_interruptions;
  const Seconds expected = mean * std::expm1(work / mean) * std::exp(600_s / mean);
  EXPECT_NEAR(*p.time_to_train / expected, 1, 0.06);
  EXPECT_NEAR(goodput.formula, work / expected, 1e-9);
}

TEST(RunPower, IsLowerWhileDevicesWaitForASlowNode) {
  const auto mean = [](std::vector<std::string> terms) {
    const RunOutlook run = *predicted(terms).outlook;
    return run.run->energy / run.run->time;
  };
  EXPECT_LT(mean({"run.reliability.slow_nodes_per_1000_node_days=1000", "run.reliability.slow_node_speed=0.1"}),
            0.8 * mean({}));
  const Prediction slow = predicted({R"(cluster.conditions=[{"nodes":[1],"compute_speed":0.1}])"});
  EXPECT_LT(slow.device_average_power, 0.8 * predicted({}).device_average_power);
}

TEST(LostTime, IsBookedByItsCause) {
  const auto lost = [](std::vector<std::string> terms) { return predicted(terms).outlook->goodput.lost_to; };
  std::map<std::string, double> flaps = lost({"run.reliability.link_flaps_per_1000_nic_days=1000"});
  EXPECT_GT(flaps["link_flaps"], 0.001);
  EXPECT_EQ(flaps["slow_nodes"], 0);
  std::map<std::string, double> elastic =
      lost({"run.reliability.spares=0", "run.reliability.elastic=true", "run.reliability.rate_factor=40"});
  EXPECT_GT(elastic["missing_nodes"], 0.001);
  EXPECT_EQ(elastic["slow_nodes"], 0);
}

TEST(Outlook, SaysNullWhereNothingInterrupts) {
  const Json json = to_json(predicted({"run.reliability.rate_factor=0"}));
  ASSERT_TRUE(json.at("goodput").contains("between_interruptions_h"));
  EXPECT_TRUE(json.at("goodput").at("between_interruptions_h").is_null());
}

TEST(Outlook, WritesLongTermsOfFailureBelowTheHeading) {
  const Prediction p = predicted({"run.reliability.spot=true", "run.reliability.rate_factor=2"});
  EXPECT_THAT(outlook_text(p), HasSubstr("The run\n  interrupted as"));
}

TEST(Outlook, SaysThatSparesAreNotCounted) {
  EXPECT_THAT(predicted({"run.reliability.spares=2"}).assumptions, Contains(HasSubstr("2 nodes in reserve")));
}

// By the records of the provider; instances of one that states none end without notice.
TEST(SpotNotice, IsTheProviders) {
  const auto notice = [](const char* node, const char* spot = "true") {
    const Scenario s =
        eight_nodes({fmt::format("cluster.node={}", node), fmt::format("run.reliability.spot={}", spot)});
    return run_risk(lower(s), catalog(), 1_s, 1_h).spot_notice;
  };
  EXPECT_EQ(notice("aws-p5.48xlarge"), 120_s);
  EXPECT_EQ(notice("azure-nd96isr-h100-v5"), 30_s);
  EXPECT_EQ(notice("gcp-a3-highgpu-8g"), 30_s);
  EXPECT_EQ(notice("dgx-h100"), Seconds(0));
}

// A node is found by its provider and instance, whatever it is called.
TEST(SpotNotice, AndBandsGoByKeysAndNotByNames) {
  const Scenario s = eight_nodes({"cluster.node=aws-p4d.24xlarge", "run.reliability.spot=true"});
  Scenario renamed = s;
  Node node = *s.node;
  node.id = "ours";
  renamed.node = &node;
  EXPECT_EQ(failure_rates(renamed, catalog()).basis, failure_rates(s, catalog()).basis);
  EXPECT_THAT(failure_rates(renamed, catalog()).basis, HasSubstr("spot-p4d-2025-05"));
  node.provider.clear();
  EXPECT_THAT(failure_rates(renamed, catalog()).basis, HasSubstr("middle of AWS's bands"));
}

/// Eight nodes that the provider takes back with 120 s of notice, twice a day, and that fail on their own once a week.
RunRisk on_spot() {
  RunRisk risk;
  risk.nodes = 8;
  risk.rates.spot = 2.0 / (8 * 1_days);
  risk.rates.interruptions = 1.0 / (8 * 7 * 1_days);
  risk.spot_notice = 120_s;
  risk.checkpoint.stall = risk.checkpoint.write = 7_s;
  risk.checkpoint.read = 7_s;
  risk.detection = risk.restart = 300_s;
  risk.work = 400 * 1_days;
  risk.interval = best_interval(hazard_of(risk), Seconds(0));
  return risk;
}

// Announced interruptions lose no work, so nobody need save for them.
TEST(SpotInterval, IsTheBestOfTheSimulation) {
  RunRisk risk = on_spot();
  const double best = simulate_runs(risk, 1, 32).mean().useful;
  EXPECT_NEAR(best, daly_goodput(hazard_of(risk), risk.interval), 0.001);
  const Seconds interval = risk.interval;
  for (const double factor : {0.25, 4.0}) {
    risk.interval = factor * interval;
    EXPECT_LT(simulate_runs(risk, 1, 32).mean().useful, best) << factor;
  }
  for (const double factor : {0.9, 1.1})
    EXPECT_LT(daly_goodput(hazard_of(risk), factor * interval), daly_goodput(hazard_of(risk), interval)) << factor;
}

TEST(SpotInterval, CountsWhatNoticeIsTooShortFor) {
  RunRisk risk = on_spot();
  const Seconds announced = risk.interval;
  risk.checkpoint.write = risk.checkpoint.stall = 130_s;
  EXPECT_EQ(hazard_of(risk).spared, 0);
  EXPECT_GT(announced, 2 * best_interval({hazard_of(on_spot()).interruptions, 7_s, Seconds(0), 600_s}, Seconds(0)));
}

TEST(CheckpointOfAdapters, HoldsThemOnce) {
  const auto size = [](const char* degree) {
    const Scenario scenario = eight_nodes({"workload.adapter_rank=16", degree});
    return checkpoint_size(lower(scenario));
  };
  EXPECT_EQ(size("strategy.tensor_parallel=2"), size("strategy.tensor_parallel=8"));
}

TEST(CheckpointOfLocalSteps, HoldsWhatTheOuterOptimizerKeeps) {
  const Scenario scenario = shipped("systems/local-sgd-diloco.json");
  const StateBytes bytes = state_bytes(scenario);
  const double parameters = checkpoint_size(lower(scenario)).value() / (bytes.parameter + bytes.optimizer + 8);
  EXPECT_NEAR(parameters / parameter_count(*scenario.model), 1, 1e-9);
}

// The trays of a rack are servers, each with a host and network of its own: 1.365 for 1000 days.
TEST(FailureRates, CountTheTraysOfARack) {
  const auto rate = [](const char* node) {
    return failure_rates(eight_nodes({fmt::format("cluster.node={}", node), "workload.global_batch=288"}), catalog())
               .interruptions *
           (1000 * 1_days);
  };
  EXPECT_NEAR(rate("gb200-nvl72"), 9 * (rate("dgx-h100") - 1.365) + 18 * 1.365, 0.02);
}

Prediction analytic(const char* scenario, const std::string& term) {
  return predict_analytic(shipped(scenario, {term}), catalog(), MemoryAdvice::none);
}

// A lost server's parameters are gone; actors hold nothing that training could not go on without.
TEST(FailuresOfHelpers, StopTrainingWhereTheyHoldItsState) {
  const auto between = [](const char* scenario, const std::string& term) {
    return *analytic(scenario, term).outlook->goodput.between_interruptions;
  };
  const char* servers = "systems/tensorflow-ps-sync.json";
  const char* same = R"(strategy.parameter_servers={{"count":{},"placement":"own-nodes"}})";
  const Seconds eight = between(servers, fmt::format(fmt::runtime(same), 8)),
                twentyfour = between(servers, fmt::format(fmt::runtime(same), 24));
  EXPECT_NEAR(eight / twentyfour, 2, 1e-9);
  const char* actors = "systems/rl-actors-learners.json";
  EXPECT_DOUBLE_EQ(between(actors, "strategy.actors.nodes=6").value(),
                   between(actors, "strategy.actors.nodes=60").value());
  EXPECT_THAT(analytic(actors, "run.seed=1").assumptions,
              Contains(HasSubstr("a lost actor costs its samples, not the job, as actors hold no state")));
}

TEST(RacksOfHelpers, AreCounted) {
  const auto facility = [](const char* term) {
    return analytic("systems/rl-actors-learners.json", term).outlook->facility;
  };
  EXPECT_GE(*facility("strategy.actors.nodes=60").racks, *facility("strategy.actors.nodes=6").racks + 10);
}

}  // namespace
}  // namespace stepcast::run_parts_test
