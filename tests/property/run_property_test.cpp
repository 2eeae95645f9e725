#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "models/parallelism/job.hpp"
#include "models/power/device_power.hpp"
#include "models/reliability/goodput.hpp"
#include "models/storage/raid.hpp"
#include "models/storage/rates.hpp"
#include "report/predict.hpp"
#include "report/run_outlook.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::run_property_test {
namespace {

using test::catalog;
using test::shipped;

double between(double low, double high) { return low + (high - low) * *rc::gen::inRange(0, 10001) / 10000.0; }

/// Any run: from hardly interrupted to hopeless.
RunRisk any_risk() {
  RunRisk risk;
  risk.nodes = *rc::gen::inRange(1, 500);
  risk.rates.interruptions = PerSecond(std::exp(between(-20, -9)) / risk.nodes);
  risk.rates.spot = PerSecond(*rc::gen::inRange(0, 2) * between(0, 1e-5) / risk.nodes);
  risk.rates.slow = PerSecond(*rc::gen::inRange(0, 2) * between(0, 1e-6) / risk.nodes);
  risk.rates.replaced_share = between(0, 1);
  risk.checkpoint.stall = Seconds(between(0, 300));
  risk.checkpoint.write = risk.checkpoint.stall + Seconds(*rc::gen::inRange(0, 2) * between(0, 600));
  risk.checkpoint.read = Seconds(between(0, 300));
  risk.interval = Seconds(std::exp(between(3, 11)));
  risk.detection = Seconds(between(0, 1000));
  risk.restart = Seconds(between(0, 1000));
  risk.repair = Seconds(between(0, 1e5));
  risk.endless_spares = *rc::gen::inRange(0, 2) == 0;
  risk.spares = *rc::gen::inRange(0, 4);
  risk.elastic = *rc::gen::inRange(0, 2) == 0;
  risk.slow_speed = between(0.2, 1);
  risk.slow_found = Seconds(between(0, 1e5));
  risk.work = Seconds(std::exp(between(8, 15)));
  return risk;
}

RC_GTEST_PROP(SimulatedRun, SpendsEverySecondOnce, (unsigned seed)) {
  const RunShares run = simulate_run(any_risk(), seed, 3);
  double sum = 0;
  for (const double RunShares::*part : kRunShares) sum += run.*part;
  RC_ASSERT(std::abs(sum - 1) < 1e-6);
  RC_ASSERT(run.useful >= 0);
}

RC_GTEST_PROP(SimulatedRun, WithoutFailuresAndCheckpointsEverySecondIsUseful, (unsigned seed)) {
  RunRisk risk = any_risk();
  risk.rates = {};
  risk.saves = false;
  const RunShares run = simulate_run(risk, seed, 0);
  RC_ASSERT(run.useful == 1.0);
  RC_ASSERT(run.time == risk.work);
}

RC_GTEST_PROP(SimulatedRun, DoesNotDependOnTheNumberOfWorkers, (unsigned seed)) {
  const RunRisk risk = any_risk();
  const GoodputTrials one = simulate_runs(risk, seed, 17, 1);
  const GoodputTrials many = simulate_runs(risk, seed, 17, *rc::gen::inRange(2, 8));
  for (std::size_t i = 0; i < one.trials.size(); ++i) {
    RC_ASSERT(one.trials[i].useful == many.trials[i].useful);
    RC_ASSERT(one.trials[i].time == many.trials[i].time);
  }
}

RC_GTEST_PROP(SimulatedRun, AgreesWithDalysFormulaWithinAPoint, (unsigned seed)) {
  RunRisk risk = any_risk();
  risk.rates.spot = risk.rates.slow = PerSecond(0);
  risk.endless_spares = true;
  risk.checkpoint.write = risk.checkpoint.stall;
  // From rare interruptions to one for every hour or so; a run of some thousand of them has little noise.
  risk.rates.interruptions = 1.0 / Seconds(between(4000, 200000)) / risk.nodes;
  risk.interval = best_interval(hazard_of(risk), Seconds(0));
  risk.work = 2000 / (risk.nodes * risk.rates.interruptions);
  const double formula = daly_goodput(hazard_of(risk), risk.interval);
  RC_ASSERT(std::abs(simulate_runs(risk, seed, 8).mean().useful - formula) < 0.01);
}

RC_GTEST_PROP(ExpectedGoodput, IsTheMeanOfTrialsWithinAPoint, (unsigned seed)) {
  RunRisk risk = any_risk();
  risk.rates.spot = PerSecond(0);
  risk.endless_spares = true;
  risk.rates.interruptions = 1.0 / Seconds(between(4000, 200000)) / risk.nodes;
  risk.rates.flaps = PerSecond(between(0, 1e-4) / risk.nodes);
  risk.flap = Seconds(between(0, 100));
  risk.interval = best_interval(hazard_of(risk), risk.checkpoint.write);
  risk.work = 2000 / (risk.nodes * risk.rates.interruptions);
  // Spells that are short beside the run, so that its trials are near their mean, and long beside an interval.
  risk.slow_found = 3e-4 * risk.work;
  risk.rates.slow = between(0, 0.5) / risk.slow_found / risk.nodes;
  const std::optional<RunShares> expected = expected_shares(risk);
  RC_ASSERT(expected.has_value());
  const RunShares mean = simulate_runs(risk, seed, 32).mean();
  RC_ASSERT(std::abs(mean.useful - expected->useful) < 0.01);
  RC_ASSERT(std::abs(mean.standing() - expected->standing()) < 0.02);
  RC_ASSERT(std::abs(mean.held_back() - expected->held_back()) < 0.02);
}

/// A long run that is interrupted every hour or two days, with nothing else amiss.
RunRisk long_run() {
  RunRisk risk = any_risk();
  risk.rates.slow = PerSecond(0);
  risk.endless_spares = true;
  const PerSecond all = 1.0 / Seconds(between(4000, 200000)) / risk.nodes;
  const double announced = between(0, 1);
  risk.rates.interruptions = all * (1 - announced);
  risk.rates.spot = all * announced;
  risk.spot_notice = Seconds(*rc::gen::inRange(0, 2) * 1e4);
  risk.interval = best_interval(hazard_of(risk), risk.checkpoint.write);
  risk.work = 2000 / (risk.nodes * all);
  return risk;
}

RC_GTEST_PROP(ExpectedGoodput, HoldsWhereInterruptionsAreAnnounced, (unsigned seed)) {
  const RunRisk risk = long_run();
  RC_PRE(is_finite(risk.interval));
  const std::optional<RunShares> expected = expected_shares(risk);
  RC_ASSERT(expected.has_value());
  const RunShares mean = simulate_runs(risk, seed, 32).mean();
  RC_ASSERT(std::abs(mean.useful - expected->useful) < 0.01);
  RC_ASSERT(std::abs(mean.standing() - expected->standing()) < 0.02);
}

RC_GTEST_PROP(ExpectedGoodput, HoldsWhereSparesRunOut, (unsigned seed)) {
  RunRisk risk = long_run();
  RC_PRE(is_finite(risk.interval));
  risk.endless_spares = risk.elastic = false;
  const std::optional<RunShares> expected = expected_shares(risk);
  RC_ASSERT(expected.has_value());
  const RunShares mean = simulate_runs(risk, seed, 32).mean();
  RC_ASSERT(std::abs(mean.useful - expected->useful) < 0.02);
  // Of idle time in all; the formula parts it between waits and restarts by their means alone.
  RC_ASSERT(std::abs(mean.standing() - expected->standing()) < 0.03);
}

// Its time is that of attempts at the whole work, which spread: of some thousand the mean is within two points.
RC_GTEST_PROP(ExpectedGoodput, HoldsWhereNothingIsSaved, (unsigned seed)) {
  RunRisk risk = long_run();
  risk.saves = false;
  risk.work = between(0.05, 2) / (risk.nodes * (risk.rates.interruptions + risk.rates.spot));
  const std::optional<RunShares> expected = expected_shares(risk);
  RC_ASSERT(expected.has_value());
  RC_ASSERT(std::abs(simulate_runs(risk, seed, 2000).together().useful - expected->useful) < 0.03);
}

// No checkpoint follows the end, and an interval that is longer than the run is never waited for.
RC_GTEST_PROP(ExpectedGoodput, HoldsOfRunsOfAFewIntervals, (unsigned seed)) {
  RunRisk risk = long_run();
  risk.work = between(0.05, 1.5) / (risk.nodes * (risk.rates.interruptions + risk.rates.spot));
  risk.interval = risk.work * between(0.2, 3);
  // Training is saved some time before the next interruption.
  risk.checkpoint.write = risk.checkpoint.stall;
  const std::optional<RunShares> expected = expected_shares(risk);
  RC_ASSERT(expected.has_value());
  const RunShares mean = simulate_runs(risk, seed, 2000).together();
  RC_ASSERT(std::abs(mean.useful - expected->useful) < 0.03);
  RC_ASSERT(std::abs(mean.standing() - expected->standing()) < 0.03);
}

TEST(ExpectedGoodput, HasNoFormulaForElasticRunsWhoseSparesRunOut) {
  RunRisk risk;
  risk.nodes = 8;
  risk.rates.interruptions = PerSecond(1e-6);
  risk.interval = risk.work = Seconds(1e4);
  risk.endless_spares = false;
  EXPECT_TRUE(expected_shares(risk).has_value());
  risk.elastic = true;
  EXPECT_FALSE(expected_shares(risk).has_value());
}

RC_GTEST_PROP(BestInterval, NoNeighbourIsBetter, ()) {
  const RunHazard hazard{1.0 / Seconds(between(100, 1e7)), Seconds(between(0, 900)), Seconds(between(0, 100)),
                         Seconds(between(0, 2000)), *rc::gen::inRange(0, 2) * between(0, 0.99)};
  const Seconds best = best_interval(hazard, Seconds(0));
  for (const double factor : {0.9, 0.99, 1.01, 1.1})
    if (best * factor >= Seconds(1)) {
      RC_ASSERT(daly_goodput(hazard, best) >= daly_goodput(hazard, best * factor) - 1e-12);
    }
}

RC_GTEST_PROP(BestInterval, IsNoWorseThanYoungsAndDalys, ()) {
  const RunHazard hazard{1.0 / Seconds(between(2000, 1e7)), Seconds(between(0.01, 900)), Seconds(0),
                         Seconds(between(0, 2000))};
  const double best = daly_goodput(hazard, best_interval(hazard, Seconds(0)));
  RC_ASSERT(best >= daly_goodput(hazard, young_interval(hazard)) - 1e-9);
  RC_ASSERT(best >= daly_goodput(hazard, daly_interval(hazard)) - 1e-9);
}

RC_GTEST_PROP(Raid, TenWritesHalfOfZero, ()) {
  const int drives = 2 * *rc::gen::inRange(2, 20);
  RC_ASSERT(raid_factors(10, drives).write == raid_factors(0, drives).write / 2);
  RC_ASSERT(raid_factors(10, drives).read == raid_factors(0, drives).read);
}

TEST(Raid, TenHalvesWhatANodeWritesAndDoublesACheckpoint) {
  const std::vector<std::string> dgx = {"cluster.node=dgx-h100", "cluster.fabric={}"};
  std::vector<std::string> ten = dgx;
  ten.emplace_back("cluster.local_raid=10");
  const Scenario zero = shipped("llama3-70b-h100-512.json", dgx);
  const Scenario mirrored = shipped("llama3-70b-h100-512.json", ten);
  EXPECT_DOUBLE_EQ(local_write_rate(mirrored)->value(), local_write_rate(zero)->value() / 2);
  EXPECT_DOUBLE_EQ(local_read_rate(mirrored)->value(), local_read_rate(zero)->value());
  EXPECT_DOUBLE_EQ(checkpoint_cost(lower(mirrored)).write.value(), 2 * checkpoint_cost(lower(zero)).write.value());
}

TEST(PowerCap, AboveTheDrawChangesNothing) {
  const std::string analytic = "run.fidelity=analytic";
  const Prediction free = predict_analytic(shipped("gpt3-175b-a100-1024.json", {analytic}), catalog());
  for (const char* cap : {"cluster.power_cap_W=400", "cluster.power_cap_W=388.1", "cluster.power_cap_W=1000"}) {
    const Prediction capped = predict_analytic(shipped("gpt3-175b-a100-1024.json", {analytic, cap}), catalog());
    EXPECT_EQ(capped.step_time, free.step_time) << cap;
    EXPECT_EQ(capped.average_power, free.average_power) << cap;
    EXPECT_EQ(capped.mfu, free.mfu) << cap;
  }
}

TEST(PowerCap, BelowTheDrawCostsTimeAndSavesPower) {
  const std::string analytic = "run.fidelity=analytic";
  Prediction before = predict_analytic(shipped("gpt3-175b-a100-1024.json", {analytic}), catalog());
  for (const char* cap : {"cluster.power_cap_W=350", "cluster.power_cap_W=300", "cluster.power_cap_W=250",
                          "cluster.power_cap_W=200", "cluster.power_cap_W=150"}) {
    const Prediction capped = predict_analytic(shipped("gpt3-175b-a100-1024.json", {analytic, cap}), catalog());
    EXPECT_GT(capped.step_time, before.step_time) << cap;
    EXPECT_LT(capped.average_power, before.average_power) << cap;
    before = capped;
  }
}

/// Energy of a step is its power over its time, energy of a run the sum of what its phases, its stand-stills and its
/// network draw; bytes of checkpoints are rate × time.
TEST(Run, ConservesEnergyAndBytes) {
  const Scenario scenario = shipped(
      "gpt3-175b-a100-1024.json",
      {"run.fidelity=analytic", "workload.tokens=300e9", "run.reliability.rate_factor=0", "run.checkpoint.kind=none"});
  const Prediction p = predict_analytic(scenario, catalog());
  EXPECT_NEAR(p.energy_per_step.value(), (p.average_power * p.step_time).value(), 1e-6 * p.energy_per_step.value());
  ASSERT_TRUE(p.outlook && p.outlook->run);
  const double steps = p.outlook->phases.front().steps;
  EXPECT_NEAR(p.outlook->run->energy.value(), steps * p.energy_per_step.value(), 1e-9 * p.outlook->run->energy.value());
  EXPECT_NEAR(p.outlook->run->time.value(), steps * p.step_time.value(), 1e-9 * p.outlook->run->time.value());
  EXPECT_DOUBLE_EQ(p.outlook->goodput.mean, 1);
  EXPECT_DOUBLE_EQ(p.outlook->goodput.p05, 1);

  const Scenario sharded = shipped("gpt3-175b-a100-1024.json", {"run.checkpoint.kind=sharded"});
  const Job job = lower(sharded);
  const CheckpointCost cost = checkpoint_cost(job);
  // On local drives each node's part lies twice.
  EXPECT_TRUE(cost.local);
  EXPECT_NEAR((writing_rate(sharded, cost.local) * sharded.spec.cluster.nodes * cost.write).value(),
              2 * cost.size.value(), 1e-9 * cost.size.value());
}

}  // namespace
}  // namespace stepcast::run_property_test
