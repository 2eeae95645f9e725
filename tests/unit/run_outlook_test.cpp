#include "report/run_outlook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/convergence/target.hpp"
#include "models/cost/cost.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/phases/run_phases.hpp"
#include "models/power/device_power.hpp"
#include "models/power/facility.hpp"
#include "models/power/power.hpp"
#include "models/reliability/goodput.hpp"
#include "models/scenario/at_size.hpp"
#include "models/scenario/stated_batch.hpp"
#include "models/storage/decimal_bytes.hpp"
#include "models/storage/input_pipeline.hpp"
#include "models/storage/rates.hpp"
#include "models/storage/storage.hpp"
#include "report/claim_study.hpp"
#include "report/json.hpp"
#include "report/predict.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::run_outlook_test {
namespace {

using test::catalog;
using test::shipped;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAnalytic = "run.fidelity=analytic";

Prediction predicted(const std::string& name, std::vector<std::string> overrides) {
  overrides.emplace_back(kAnalytic);
  return predict_analytic(shipped(name, overrides), catalog());
}

const char* const kResnet = "resnet50-v100-8nodes.json";

TEST(DecimalText, HasThreeDigitsAndNoExponent) {
  EXPECT_EQ(decimal_text(Bytes(2.437e12)), "2.44 TB");
  EXPECT_EQ(decimal_text(Bytes(999.7e9)), "1 TB");
  EXPECT_EQ(decimal_text(Bytes(12)), "0.012 kB");
  EXPECT_EQ(decimal_text(Bytes(2.4e18)), "2400 PB");
  EXPECT_EQ(decimal_text(8_GBps), "8 GB/s");
}

TEST(Checkpoint, RatesThatNobodyStatesAreListed) {
  const auto assumed = [](const char* node) {
    const Json document = {{"cluster", {{"node", node}, {"nodes", 1}}},
                           {"workload", {{"model", "gpt2"}, {"global_batch", 64}}}};
    return predict_analytic(resolve(document, "test", {}, catalog()), catalog()).assumptions;
  };
  EXPECT_THAT(assumed("hgx-h100-4"), Contains(HasSubstr("one data-centre NVMe drive a node, 4 GB/s written")));
  EXPECT_THAT(assumed("dgx-h100"), Not(Contains(HasSubstr("NVMe"))));
}

TEST(Checkpoint, HoldsWhatBloomsHeld) {
  // 176 B parameters, 2.3 TB (BigScience, tr11-176B chronicles): 14 bytes a parameter.
  const Scenario scenario = shipped("gpt3-175b-a100-1024.json", {});
  EXPECT_NEAR(checkpoint_size(lower(scenario)).in(1_TB), 2.3 * 175.0 / 176, 0.07 * 2.3);
}

// A node that is replaced takes its drives along, so a second node holds its part, too.
TEST(Checkpoint, LocalOnesLieOnTwoNodes) {
  const auto cost = [](const char* nodes, const char* kind) {
    const Scenario scenario = shipped("llama3-70b-h100-512.json",
                                      {nodes, kind, "run.checkpoint.size_GB=1000", "run.checkpoint.target=local"});
    return std::pair(checkpoint_cost(lower(scenario)), local_write_rate(scenario).value());
  };
  const auto [sharded, write] = cost("cluster.nodes=64", "run.checkpoint.kind=sharded");
  EXPECT_NEAR(sharded.stall / (1000_GB / (write * 64.0)), 2, 1e-9);
  // One node reads all of a full one, as 64 do each a part of a sharded one.
  const CheckpointCost full = cost("cluster.nodes=64", "run.checkpoint.kind=full").first;
  EXPECT_NEAR(full.read / sharded.read, 64, 1e-9);
  EXPECT_NEAR(full.stall / sharded.stall, 64, 1e-9);
}

// A store that reads 1.1 GB/s in all and is silent on writing takes half of that from one node, however many there are.
TEST(Checkpoint, FullOnesAreWrittenAtOneNodesRateInAClusterOfAnySize) {
  for (const char* nodes : {"cluster.nodes=16", "cluster.nodes=64"}) {
    const Scenario scenario =
        shipped("llama3-70b-h100-512.json",
                {nodes, "run.checkpoint.kind=full", "cluster.storage=nfs-10gbe", "run.checkpoint.size_GB=1000"});
    EXPECT_NEAR(checkpoint_cost(lower(scenario)).stall / (1000_GB / 0.55_GBps), 1, 1e-9) << nodes;
  }
}

/// Why such terms of Llama 3 70B's run are refused; empty where they are not.
std::string faults(std::vector<std::string> terms) {
  try {
    predicted("llama3-70b-h100-512.json", std::move(terms));
  } catch (const InputError& error) {
    return error.faults().front().pointer + ": " + error.faults().front().message;
  }
  return "";
}

TEST(Checkpoint, FollowsTheOneBeforeNoSoonerThanItCan) {
  EXPECT_THAT(faults({"run.checkpoint.interval_s=0.001"}),
              HasSubstr("/run/checkpoint/interval_s: found 0.001, but a step takes 15."));
  const char *behind = "run.checkpoint.kind=asynchronous", *store = "cluster.storage=nfs-10gbe";
  EXPECT_THAT(faults({behind, store, "run.checkpoint.interval_s=60"}), HasSubstr("is written in"));
  EXPECT_EQ(faults({behind, store, "run.checkpoint.interval_s=3600"}), "");
  EXPECT_EQ(faults({"run.checkpoint.interval_s=60"}), "");
  EXPECT_EQ(faults({"run.checkpoint.kind=none"}), "");
}

TEST(Checkpoint, AsynchronousOnesStallForTheCopyAlone) {
  const auto cost = [](const char* kind) {
    const Scenario scenario = shipped("gpt3-175b-a100-1024.json", {kind});
    return checkpoint_cost(lower(scenario));
  };
  const CheckpointCost sharded = cost("run.checkpoint.kind=sharded"), full = cost("run.checkpoint.kind=full"),
                       behind = cost("run.checkpoint.kind=asynchronous");
  EXPECT_LT(behind.stall, 0.2 * sharded.stall);
  EXPECT_GT(behind.write, sharded.write);
  EXPECT_GT(full.stall, 50 * sharded.stall);  // one node of 128 writes
}

TEST(FailureRates, AreLlama3sOnItsOwnCluster) {
  const Scenario scenario = shipped("llama3-405b-h100-16384.json", {});
  const FailureRates rates = failure_rates(scenario, catalog());
  EXPECT_NEAR((rates.interruptions * 2048 * (54 * 1_days)), 419, 0.5);
  const FailureRates doubled =
      failure_rates(shipped("llama3-405b-h100-16384.json", {"run.reliability.rate_factor=2"}), catalog());
  EXPECT_DOUBLE_EQ(doubled.interruptions.value(), 2 * rates.interruptions.value());
}

// Every announced interruption leaves a checkpoint, so one without notice loses no more than since the last of either.
TEST(SimulatedRun, ComesBackToAnnouncedCheckpointsLater) {
  RunRisk risk;
  risk.nodes = 1;
  risk.rates.interruptions = 1.0 / 10_h;
  risk.rates.spot = 20.0 / 10_h;
  risk.spot_notice = 120_s;
  risk.checkpoint.write = risk.checkpoint.stall = 1_s;
  risk.interval = 1000_h;
  risk.detection = risk.restart = Seconds(0);
  risk.work = 200_h;
  const RunShares mean = simulate_runs(risk, 1, 64).mean();
  // Half an hour lies between interruptions of any kind: 0.05 of it is lost in the mean to one in ten hours.
  EXPECT_NEAR(mean.lost_work, 0.048, 0.01);
}

// The spells of a run are stepped through up to so many, and averaged above: both say the same.
TEST(SimulatedRun, TrainsAtTheMeanSpeedWhereSpellsAreMany) {
  RunRisk risk;
  risk.nodes = 10;
  risk.saves = false;
  risk.rates.slow = 1.0 / 10_h;
  risk.slow_speed = 0.5;
  risk.slow_found = 1_h;
  const auto useful = [&](Seconds work) {
    risk.work = work;
    return simulate_run(risk, 1, 0).useful;
  };
  EXPECT_NEAR(useful(9e4 * 1_h), useful(2e5 * 1_h), 0.005);
  risk.rates.slow = 1e6 / 1_h;  // some node is always slow
  EXPECT_NEAR(useful(1e6 * 1_h), 0.5, 1e-6);
}

// A spot price comes with the interruptions that make it low.
TEST(FailureRates, InstancesPricedAsSpotAreTakenBack) {
  const auto spot = [](std::vector<std::string> terms) {
    return failure_rates(shipped("llama3-70b-h100-512.json", std::move(terms)), catalog()).spot;
  };
  const char *node = "cluster.node=aws-p5.48xlarge", *priced = "cluster.cost.basis=spot";
  EXPECT_EQ(spot({node}), PerSecond(0));
  EXPECT_GT(spot({node, priced}), PerSecond(0));
  EXPECT_EQ(spot({node, priced}), spot({node, "run.reliability.spot=true"}));
  EXPECT_EQ(spot({node, priced, "run.reliability.spot=false"}), PerSecond(0));
}

TEST(FailureRates, SpotInstancesGoByTheirBand) {
  const FailureRates rates = failure_rates(
      shipped("llama3-70b-h100-512.json", {"cluster.node=aws-p5.48xlarge", "run.reliability.spot=true"}), catalog());
  EXPECT_NEAR(rates.spot * (365.25 / 12 * 1_days), 0.15, 1e-9);  // 10-20 % a month
}

TEST(Interval, DalysIsYoungsForShortStalls) {
  const RunHazard hazard{1.0 / Seconds(1e6), 1_s, Seconds(0), Seconds(0)};
  EXPECT_NEAR(young_interval(hazard).value(), std::sqrt(2e6), 1e-6);
  EXPECT_NEAR(daly_interval(hazard) / young_interval(hazard), 1, 1e-3);
}

TEST(Goodput, WaitsWhereSparesAreOut) {
  RunRisk risk;
  risk.nodes = 100;
  risk.rates.interruptions = 1.0 / (100 * 20 * 1_h);
  risk.rates.replaced_share = 1;
  risk.checkpoint.stall = risk.checkpoint.write = 10_s;
  risk.interval = 600_s;
  risk.repair = 24_h;
  risk.work = 60 * 1_days;
  risk.endless_spares = false;
  const auto goodput = [&](int spares, bool elastic) {
    risk.spares = spares;
    risk.elastic = elastic;
    return simulate_runs(risk, 1, 20).mean();
  };
  const RunShares none = goodput(0, false), some = goodput(8, false), elastic = goodput(0, true);
  EXPECT_GT(none.waiting, 0.3);
  EXPECT_LT(some.waiting, 0.01);
  EXPECT_GT(elastic.useful, none.useful + 0.2);
  EXPECT_GT(elastic.missing_nodes, 0);
}

// 10 flaps a day over all links, each a stall of 432 s: 4320 of 86,400 s.
TEST(Goodput, LinkFlapsStallTheJob) {
  RunRisk risk;
  risk.nodes = 100;
  risk.rates.flaps = 10.0 / (100 * 1_days);
  risk.flap = 432_s;
  risk.work = 10 * 1_days;
  risk.saves = false;
  const RunShares shares = simulate_runs(risk, 1, 1).mean();
  EXPECT_NEAR(shares.useful, 1 / 1.05, 1e-9);
  EXPECT_NEAR(shares.link_flaps, 0.05 / 1.05, 1e-9);
}

// At a barrier all devices fall from what a step draws to idling; a stated limit is held against that.
TEST(Facility, SwingsOfTheSiteGrowWithItAndAreHeldAgainstTheLimit) {
  const auto facility = [](const char* nodes, const char* limit) {
    return predicted("llama3-70b-h100-512.json", {nodes, limit}).outlook->facility;
  };
  const char* none = "cluster.facility.ramp_limit_kW_per_s=1e9";
  const auto half = facility("cluster.nodes=32", none), whole = facility("cluster.nodes=64", none);
  EXPECT_GT(half.swing_kW_per_s, 0);
  EXPECT_NEAR(whole.swing_kW_per_s / half.swing_kW_per_s, 2, 0.1);
  EXPECT_TRUE(whole.exceeded.empty());
  const auto limited = facility("cluster.nodes=64", "cluster.facility.ramp_limit_kW_per_s=1");
  EXPECT_THAT(limited.exceeded, Contains(HasSubstr("power swings by")));
}

TEST(Phases, AddUp) {
  const Prediction p = predicted(
      "gpt3-175b-a100-1024.json",
      {"workload.tokens=300e9",
       R"(run.phases=[{"name":"ramp","tokens":1e9,"global_batch":768,"global_batch_end":1536},{"name":"rest"},)"
       R"({"kind":"evaluation","samples":1000,"every_steps":500},{"kind":"startup","time_s":600}])"});
  ASSERT_TRUE(p.outlook->run);
  Seconds sum, startup;
  double tokens = 0;
  for (const PhaseOutlook& phase : p.outlook->phases) {
    (phase.kind == "startup" ? startup : sum) += phase.time;
    if (phase.kind == "train") tokens += phase.tokens;
  }
  // Each of the two training phases ends with a whole step.
  EXPECT_NEAR(tokens, 300e9, 2 * 1536 * 2048);
  // Trials' times have their own mean.
  EXPECT_NEAR(p.outlook->run->time.value(), (startup + sum / p.outlook->goodput.mean).value(), 1e-5 * sum.value());
  EXPECT_EQ(startup, 600_s);
  // A ramp from half of the batch takes more steps than the whole one, and fewer than the half.
  const PhaseOutlook& ramp = p.outlook->phases.front();
  EXPECT_GT(ramp.steps, ramp.samples / 1536);
  EXPECT_LT(ramp.steps, ramp.samples / 768);
}

// Forward passes alone: nothing is exchanged, so a slow network does not slow them, and nothing is recomputed.
TEST(Phases, EvaluationIsForwardPassesAlone) {
  const auto evaluation = [](const char* scenario, const char* change) {
    const Prediction p = predicted(scenario, {kAnalytic, change,
                                              R"(run.phases=[{"name":"train","steps":1000},)"
                                              R"({"kind":"evaluation","samples":50000}])"});
    return p.outlook->phases.back().time;
  };
  const char* servers = "systems/tensorflow-ps-sync.json";
  EXPECT_NEAR(evaluation(servers, "cluster.fabric.nic_bandwidth_Gbps=1") /
                  evaluation(servers, "cluster.fabric.nic_bandwidth_Gbps=100"),
              1, 1e-6);
  const char* llama = "llama3-70b-h100-512.json";
  EXPECT_NEAR(evaluation(llama, "strategy.recompute=full") / evaluation(llama, "strategy.recompute=none"), 1, 1e-6);
  EXPECT_NEAR(evaluation(llama, "strategy.offload_activations=true") / evaluation(llama, "strategy.recompute=none"), 1,
              1e-6);
  // 2 of a step's 6 FLOPs a parameter; tensor parallelism exposes as much of either pass.
  const Prediction step = predicted(llama, {kAnalytic});
  const double share = evaluation(llama, "strategy.recompute=none") / (step.step_time * (50000.0 / 1024));
  EXPECT_GT(share, 0.3);
  EXPECT_LT(share, 0.36);
}

// As in training, the slowest replica keeps the others waiting, and each node kind has its own times.
TEST(Phases, EvaluationIsAsSlowAsTheNodesThatItRunsOn) {
  const auto evaluation = [](std::vector<std::string> terms) {
    terms.insert(terms.end(), {kAnalytic, R"(run.phases=[{"steps":1000},)"
                                          R"({"kind":"evaluation","samples":1024,"times":1000}])"});
    return predicted("llama3-70b-h100-512.json", std::move(terms)).outlook->phases.back();
  };
  const PhaseOutlook healthy = evaluation({});
  std::string all;
  for (int node = 0; node < 64; ++node) all += (node > 0 ? "," : "") + std::to_string(node);
  const std::string half = R"(cluster.conditions=[{"compute_speed":0.5,"nodes":[)";
  EXPECT_GT(evaluation({half + all + "]}]"}).time / healthy.time, 1.7);
  EXPECT_LE(evaluation({half + all + "]}]"}).time / healthy.time, 2.0);
  EXPECT_GT(evaluation({half + "3]}]"}).time / healthy.time, 1.3);
  const PhaseOutlook mixed = evaluation({R"(cluster.other_nodes=[{"node":"dgx-a100-80gb","nodes":[0,1,2,3]}])"});
  EXPECT_GT(mixed.time / healthy.time, 1.5);
}

TEST(Phases, LeaveSomethingForTheOneThatTakesTheRest) {
  const auto phases = [](const char* tokens) {
    return fmt::format(R"(run.phases=[{{"tokens":{}}},{{"name":"rest"}}])", tokens);
  };
  EXPECT_THAT(faults({"workload.tokens=1e11", phases("2e11")}), HasSubstr("/run/phases/1: says no amount"));
  EXPECT_THAT(faults({"workload.tokens=1e11", phases("1e11")}), HasSubstr("/run/phases/1: says no amount"));
  EXPECT_EQ(faults({"workload.tokens=1e11", phases("0.9e11")}), "");
}

// A phase of its own scenario is measured against a closed form that waits as the prediction does.
TEST(Phases, WaitForInputInTimeAndPower) {
  const Prediction whole = predicted(kResnet, {"workload.input.decode_ms=300", "workload.epochs=2"});
  const Prediction phased =
      predicted(kResnet, {"workload.input.decode_ms=300", "workload.epochs=2", R"(run.phases=[{"name":"train"}])"});
  EXPECT_NEAR(phased.outlook->run->time / whole.outlook->run->time, 1, 1e-9);
  EXPECT_NEAR(phased.outlook->run->energy / whole.outlook->run->energy, 1, 1e-9);
}

TEST(WorkFactor, IsTwoAtTheCriticalBatchAgainstNoBatch) {
  const Scenario scenario = shipped(kResnet, {"workload.critical_batch=16384", "workload.stated_at_batch=1"});
  EXPECT_NEAR(work_factor(scenario), 2, 1e-3);
  EXPECT_EQ(work_factor(shipped(kResnet, {"workload.critical_batch=16384"})), 1);
}

TEST(WorkFactor, WithoutAStatedBatchIsOneAndSaysSo) {
  const Scenario scenario = shipped(kResnet, {"workload.critical_batch=16384", "workload.epochs=90"});
  EXPECT_THAT(scenario.assumptions, Contains(HasSubstr("no stated_at_batch")));
  EXPECT_THAT(shipped(kResnet, {"workload.critical_batch=16384", "workload.stated_at_batch=1"}).assumptions,
              Not(Contains(HasSubstr("stated_at_batch"))));
}

// Scenarios at other sizes, and what a change makes of one, keep the batch for which the work was stated.
TEST(WorkFactor, OfVariantsIsAgainstTheirBaseline) {
  const Json baseline{{"cluster", {{"nodes", 2}}}, {"workload", {{"global_batch", 64}, {"critical_batch", 900}}}};
  EXPECT_EQ(at_size(baseline, 8, 256)["workload"]["stated_at_batch"], 64);
  Json changed = baseline;
  changed["workload"]["global_batch"] = 256;
  changed["workload"]["stated_at_batch"] = 128;
  keep_stated_batch(changed, baseline);
  EXPECT_EQ(changed["workload"]["stated_at_batch"], 128);
  changed["workload"].erase("critical_batch");
  changed["workload"].erase("stated_at_batch");
  keep_stated_batch(changed, baseline);
  EXPECT_FALSE(changed["workload"].contains("stated_at_batch"));
  Json broken = "text";
  keep_stated_batch(broken, baseline);
  EXPECT_EQ(broken, "text");
}

TEST(Target, SaysWhichUpdatesItDoesNotCount) {
  const auto words = [](const char* name, std::vector<std::string> changes) {
    std::string out;
    for (const std::string& assumption : predicted(name, std::move(changes)).assumptions)
      if (assumption.find("samples to the target as stated") != std::string::npos) out = assumption;
    return out;
  };
  EXPECT_THAT(words("systems/tensorflow-ps-async.json", {"workload.epochs=90"}), HasSubstr("stale updates"));
  EXPECT_THAT(words("systems/local-sgd-diloco.json", {}), HasSubstr("local steps"));
  EXPECT_THAT(words("systems/federated.json", {}), HasSubstr("local steps"));
  EXPECT_THAT(words("systems/rl-actors-learners.json", {}), HasSubstr("stale updates"));
  EXPECT_EQ(words("systems/rl-actors-learners.json", {"strategy.actors.staleness_bound=0"}), "");
  EXPECT_EQ(words("systems/tensorflow-ps-sync.json", {"workload.epochs=90"}), "");
}

TEST(Federation, IsInterruptedWithItsServerAlone) {
  const auto risk = [](int clients) {
    const Scenario scenario = shipped("systems/federated.json",
                                      {fmt::format("cluster.nodes={}", clients), "strategy.federated.clients=100000",
                                       fmt::format("workload.global_batch={}", 10 * clients)});
    return run_risk(lower(scenario), catalog(), 0.1_s, 1000_h);
  };
  const RunRisk few = risk(100), many = risk(10000);
  EXPECT_EQ(few.nodes, 1);
  EXPECT_DOUBLE_EQ((many.nodes * many.rates.interruptions).value(), (few.nodes * few.rates.interruptions).value());
  // 1.365 for 1000 days: a server without accelerators.
  EXPECT_NEAR(many.rates.interruptions * (1000 * 1_days), 1.365, 0.001);
  // Of 300 local steps a round, and 3.5 M parameters in fp32 on one drive.
  EXPECT_GE(many.interval.value(), 30 - 1e-9);
  EXPECT_NEAR(many.checkpoint.size.in(1_MB), 14, 0.3);
  EXPECT_NEAR(many.checkpoint.stall.in(1_ms), 14 / 4.0, 0.1);
  EXPECT_THAT(many.checkpoint.basis, HasSubstr("the server's drives"));
}

// Between two averages every worker has a model of its own, which no checkpoint of one model saves.
TEST(Checkpoint, LocalStepsAreSavedWhenTheirRoundEnds) {
  const Scenario scenario = shipped("systems/local-sgd-diloco.json", {});
  const double steps = scenario.spec.strategy.local_steps;
  EXPECT_DOUBLE_EQ(run_risk(lower(scenario), catalog(), 1_s, 1000_h).checkpoint.shortest_interval.value(), steps);
  RunRisk hasty = run_risk(lower(scenario), catalog(), 1_s, 1000_h);
  hasty.interval = 2_s;
  EXPECT_THROW(check_interval(hasty), InputError);
}

// Of no kind of work, down to the least cap that the device takes.
TEST(PowerCap, IsExceededByNoKindOfWork) {
  Scenario scenario = shipped("llama3-70b-h100-512.json", {});
  const Watts least = least_device_power(scenario).power;
  EXPECT_LT(least, 200_W);  // what H100 boards can be set to (nvidia-smi)
  double before = 0;
  for (const double cap : {least.in(1_W), 200.0, 250.0, 300.0, 350.0, 500.0, 650.0}) {
    scenario.spec.cluster.power_cap = cap * 1_W;
    const ClockState clocks = clock_state(scenario);
    for (const Watts draw : {clocks.power.compute, clocks.power.memory, clocks.power.communication, clocks.power.ready})
      EXPECT_LE(draw.in(1_W), cap * (1 + 1e-9)) << cap;
    EXPECT_GE(clocks.bandwidth, before) << cap;
    before = clocks.bandwidth;
  }
}

// Neither a clock nor a cap holds processors: one does not stand for the other.
TEST(PowerCap, IsNotOfferedInPlaceOfAClockWhereThereIsNone) {
  try {
    (void)shipped("rental-cpu-server.json", {"cluster.clock_MHz=1500"});
    FAIL() << "a processor's clock was taken";
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().front().pointer, "/cluster/clock_MHz");
    EXPECT_EQ(error.faults().front().suggestion, "leave it out");
  }
}

TEST(PowerCap, FollowsTheBoardsThatWereMeasured) {
  // RTX PRO 6000 server at 300 of 500 W lost 21 %, the workstation edition at 400 of 600 W 27 %.
  const auto clock = [](double share) {
    Scenario scenario = shipped("llama3-70b-h100-512.json", {});
    scenario.spec.cluster.power_cap = share * 0.97 * scenario.accelerator->tdp;
    return clock_state(scenario).products;
  };
  EXPECT_NEAR(clock(0.6), 0.79, 0.05);
  EXPECT_NEAR(clock(0.8), 0.91, 0.03);
  EXPECT_NEAR(clock(400.0 / 600), 0.73, 0.12);
}

TEST(Cost, TermsOfTheScenarioComeFirst) {
  const Scenario rented = shipped("llama3-70b-h100-512.json", {"cluster.cost.node_rent_usd_per_h=10"});
  EXPECT_NEAR((cost_rate(rented, catalog(), 1_kW)->total() * 1_h).in(1_usd), 640, 1e-6);
  const Scenario bought =
      shipped("llama3-70b-h100-512.json", {"cluster.cost.node_purchase_usd=300000", "cluster.cost.amortisation_years=5",
                                           "cluster.cost.upkeep_percent_per_year=10"});
  const auto rate = cost_rate(bought, catalog(), 1_kW, 64 * 30000.0_usd);
  EXPECT_NEAR((rate->servers * (365.25 * 1_days)).in(1_usd), 64 * 60000, 1);
  EXPECT_NEAR((rate->network * (365.25 * 1_days)).in(1_usd), 64 * 6000, 1);
  EXPECT_NEAR((rate->upkeep * (365.25 * 1_days)).in(1_usd), 64 * 33000, 1);
}

TEST(Outlook, SurvivesJson) {
  const Prediction p = predicted("llama3-70b-h100-512.json", {"workload.tokens=1e12"});
  const Json json = to_json(p);
  for (const char* key :
       {"/goodput/mean", "/goodput/p05", "/goodput/p95", "/input_pipeline/bound", "/input_pipeline/samples_per_s",
        "/carbon/per_step_g", "/carbon/run_kg", "/power/fabric_W", "/run/time_s", "/run/cost_low_usd"})
    EXPECT_TRUE(json.contains(Json::json_pointer(key))) << key;
  // Figures that are derived on the way may differ in their twelfth digit; those of the outlook are read as they stand.
  const Json again = to_json(prediction_from_json(json));
  for (const char* key : {"goodput", "checkpoint", "input_pipeline", "carbon", "phases", "run", "facility"})
    EXPECT_EQ(again.at(key), json.at(key)) << key;
}

TEST(Faults, AreNamedWhereTheyAre) {
  const auto faults_of = [](const std::vector<std::string>& overrides) {
    try {
      (void)shipped(kResnet, overrides);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(faults_of({"cluster.local_raid=6", "cluster.node=aws-p3dn.24xlarge"}), HasSubstr("/cluster/local_raid"));
  EXPECT_THAT(faults_of({"cluster.clock_MHz=9000"}), HasSubstr("/cluster/clock_MHz"));
  EXPECT_THAT(faults_of({"cluster.clock_MHz=1"}), HasSubstr("/cluster/clock_MHz: found 1, but v100"));
  EXPECT_THAT(faults_of({"cluster.power_cap_W=5"}), HasSubstr("/cluster/power_cap_W: found 5, but v100"));
  EXPECT_THAT(faults_of({"cluster.power_cap_W=5"}), HasSubstr("at its lowest clock; at least "));
  EXPECT_THAT(faults_of({"cluster.facility.supplies_in_use=9"}), HasSubstr("/cluster/facility/supplies_in_use"));
  EXPECT_THAT(faults_of({"run.checkpoint.target=shared"}), HasSubstr("no shared storage"));
  EXPECT_THAT(faults_of({"run.reliability.published=spot-notice-aws"}), HasSubstr("states no interruptions_per_1000"));
  EXPECT_THAT(faults_of({R"(run.phases=[{"kind":"startup"}])"}), HasSubstr("/run/phases/0/time_s"));
  EXPECT_THAT(faults_of({R"(run.phases=[{"name":"a"},{"name":"b"}])"}), HasSubstr("second phase without an amount"));
  EXPECT_THAT(faults_of({R"(run.phases=[{"global_batch":7}])"}), HasSubstr("/run/phases/0"));
}

TEST(ClaimStudy, HoldsGainsAgainstClaims) {
  ClaimStudySpec spec;
  spec.variants = {{"half the power", {}}};
  spec.claims = {{"throughput", 10, 30}, {"flops_per_W", 20, 50}, {"pue", 5, 10}};
  const Prediction before = predicted("llama3-70b-h100-512.json", {});
  const Prediction after = predicted("llama3-70b-h100-512.json", {"cluster.power_cap_W=400"});
  const ClaimStudy result = study_claims(spec, before, {after});
  const std::vector<StudyGain>& gains = result.variants.front().gains;
  EXPECT_EQ(gains[0].verdict, ClaimVerdict::worse);
  EXPECT_GT(*gains[2].gain_percent, 0);
  EXPECT_EQ(gains[3].verdict, ClaimVerdict::none);
  EXPECT_FALSE(gains[1].verdict);
  EXPECT_THAT(result.variants.front().notes, Contains(HasSubstr("throughput cannot rise")));
}

}  // namespace
}  // namespace stepcast::run_outlook_test
