#include "calibration/validation/score.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/validation/report/validation_scores.hpp"

namespace stepcast::score_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A run of a configuration of its own, with a step of `predicted` seconds if that is the metric.
PredictedRun outcome(double predicted, double measured, const std::string& group, Metric metric = Metric::step_time) {
  static int configurations = 0;
  PredictedRun out;
  out.predicted = predicted;
  out.step_time = Seconds(metric == Metric::step_time ? predicted : 1 / predicted);
  out.run.metric = metric;
  out.run.measured = measured;
  out.run.group = group;
  out.run.gpus = 8;
  out.run.accelerator = "a";
  out.run.scenario = {{"workload", {{"model", group}, {"global_batch", 1}}}, {"strategy", ++configurations}};
  return out;
}

std::vector<PredictedRun> all_of(const std::vector<std::pair<double, double>>& times, const std::string& group) {
  std::vector<PredictedRun> out;
  for (const auto& [predicted, measured] : times) out.push_back(outcome(predicted, measured, group));
  return out;
}

TEST(Score, CountsErrorsOfCoveredRowsAndReasonsOfTheOthers) {
  PredictedRun refused;
  refused.reason = "no such thing";
  const SetScore set = score("set", {outcome(1.1, 1, "g"), outcome(1.6, 2, "g"), refused, outcome(3, 3, "g")});
  EXPECT_EQ(set.rows, 4u);
  EXPECT_EQ(set.covered, 3u);
  EXPECT_EQ(set.reasons.at("no such thing"), 1);
  EXPECT_NEAR(*set.mape, 10, 1e-9);
  EXPECT_NEAR(*set.median, 10, 1e-9);
  EXPECT_NEAR(*set.max, 20, 1e-9);
  EXPECT_NEAR(*set.bias, 100 * (std::cbrt(1.1 * 0.8) - 1), 1e-9);
  EXPECT_DOUBLE_EQ(*set.kendall_tau, 1);
  EXPECT_EQ(set.kendall_tau_within, std::nullopt);  // three configurations are no group
  EXPECT_EQ(set.regret, std::nullopt);
  EXPECT_EQ(set.memory_mape, std::nullopt);
  EXPECT_DOUBLE_EQ(*set.worst.front()->predicted, 1.6);
}

// Whichever way round the metric is: of times 10 % too long and rates 25 % too high, an interval of 20 % holds the
// first.
TEST(Score, CountsRowsThatTheirOwnIntervalHolds) {
  std::vector<PredictedRun> runs{outcome(1.1, 1, "g"), outcome(1.25, 1, "g", Metric::samples_per_s)};
  for (PredictedRun& run : runs) run.expected_error.share_80 = std::log(1.2);
  EXPECT_NEAR(*score("set", runs).in_interval, 50, 1e-9);
  runs.back().expected_error.share_80 = std::log(1.3);
  EXPECT_NEAR(*score("set", runs).in_interval, 100, 1e-9);
  EXPECT_EQ(score("set", {}).in_interval, std::nullopt);
}

TEST(Score, RanksWithinGroupsOfFourAndCountsBiasInTime) {
  std::vector<PredictedRun> runs;
  for (const double x : {1.0, 2.0, 3.0, 4.0}) {
    runs.push_back(outcome(x, x, "right", Metric::tokens_per_s_per_gpu));
    runs.push_back(outcome(2 * x, 10 - x, "wrong way", Metric::tokens_per_s_per_gpu));
  }
  EXPECT_DOUBLE_EQ(*score("set", std::move(runs)).kendall_tau_within, 0);
  // Twice the rate is half the time.
  const SetScore fast = score("set", {outcome(2, 1, "g", Metric::tokens_per_s_per_gpu)});
  EXPECT_NEAR(*fast.bias, -50, 1e-9);
  EXPECT_NEAR(*fast.mape, 100, 1e-9);
}

TEST(Score, RegretIsHowMuchSlowerTheFirstChoiceMeasured) {
  // Ranked first: 1 s predicted, 3 s measured; the best of its group measured 2 s.
  const SetScore wrong = score("set", all_of({{1, 3}, {2, 2}, {3, 4}, {4, 5}}, "g"));
  EXPECT_NEAR(wrong.regret->mean, 50, 1e-9);
  EXPECT_EQ(score("set", all_of({{1, 2}, {2, 3}, {3, 4}, {4, 5}}, "g")).regret->worst, 0);
  std::vector<PredictedRun> two = all_of({{1, 3}, {2, 2}, {3, 4}, {4, 5}}, "g");
  for (PredictedRun& run : all_of({{1, 2}, {2, 3}, {3, 4}, {4, 5}}, "h")) two.push_back(std::move(run));
  const SetScore both = score("set", std::move(two));
  EXPECT_NEAR(both.regret->mean, 25, 1e-9);
  EXPECT_NEAR(both.regret->worst, 50, 1e-9);
}

TEST(Score, OfTwoFirstChoicesThatTieTheMeanCounts) {
  const SetScore set = score("set", all_of({{1, 2}, {1, 4}, {3, 4}, {4, 5}}, "g"));
  EXPECT_NEAR(set.regret->mean, 50, 1e-9);
}

TEST(Score, RepeatsOfAConfigurationAreOne) {
  std::vector<PredictedRun> runs = all_of({{1, 3}, {2, 2}, {3, 4}}, "g");
  runs.push_back(runs.front());  // a repeat, faster than the first time
  runs.back().run.measured = 12;
  EXPECT_EQ(score("set", runs).regret, std::nullopt);
  runs.push_back(outcome(4, 5, "g"));
  const SetScore set = score("set", std::move(runs));
  ASSERT_EQ(set.groups.size(), 1u);
  EXPECT_EQ(set.groups.front().configurations.size(), 4u);
  EXPECT_NEAR(set.groups.front().configurations.front().measured.value(), 6, 1e-9);  // geometric mean of 3 and 12
}

TEST(Score, MachinesOfOneJobAreRankedButNotChosenFrom) {
  std::vector<PredictedRun> runs = all_of({{1, 1}, {2, 2}}, "g");
  for (PredictedRun& run : all_of({{3, 3}, {4, 4}}, "g")) {
    run.run.group = "g on another machine";
    runs.push_back(std::move(run));
  }
  const SetScore set = score("set", std::move(runs));
  EXPECT_DOUBLE_EQ(*set.kendall_tau_within, 1);
  EXPECT_EQ(set.regret, std::nullopt);
}

TEST(Score, DoubtedRowsCountApart) {
  std::vector<PredictedRun> runs = all_of({{1.1, 1}, {1.1, 1}}, "g");
  runs.push_back(outcome(3, 1, "g"));
  runs.back().run.doubtful = "the source says so";
  runs[0].run.inputs_unstated.emplace_back("recompute");
  runs.emplace_back().reason = "no such model";  // what else it states is not known
  runs.back().run.accelerator = "a";
  const SetScore set = score("set", std::move(runs));
  EXPECT_EQ(set.rows, 4u);
  EXPECT_EQ(set.covered, 3u);
  EXPECT_NEAR(*set.mape, 10, 1e-9);
  EXPECT_NEAR(*set.doubtful.mape, 200, 1e-9);
  EXPECT_NEAR(*set.all.mape, 220.0 / 3, 1e-9);
  EXPECT_EQ(set.doubts.at("the source says so"), 1);
  EXPECT_EQ(set.fully_stated.rows, 1u);
  EXPECT_EQ(set.worst.size(), 2u);
  std::vector<std::string> machines;
  for (const auto& [name, figures] : set.accelerators) machines.push_back(name);
  EXPECT_THAT(machines, ElementsAre("a"));
}

TEST(Score, MixedMetricsAreRankedByTime) {
  std::vector<PredictedRun> runs;
  runs.push_back(outcome(1, 1, "g"));
  runs.push_back(outcome(0.5, 0.5, "g", Metric::tokens_per_s_per_gpu));  // two seconds
  EXPECT_DOUBLE_EQ(*score("set", std::move(runs)).kendall_tau, 1);
}

ValidationScores one_set(std::vector<PredictedRun> runs) {
  ValidationScores out;
  out.fidelity = "analytic";
  out.runs.push_back(score("set", std::move(runs)));
  out.total = total_of(out.runs);
  return out;
}

TEST(ValidationJson, OfNothingIsNull) {
  const Json report = validation_json(one_set({}), RegretDetail::figures);
  EXPECT_EQ(report["sets"][0]["rows"], 0);
  for (const char* key : {"mape_pct", "median_ape_pct", "p90_ape_pct", "max_ape_pct", "bias_pct", "kendall_tau",
                          "kendall_tau_within", "memory_mape_pct", "memory_max_ape_pct", "regret"})
    EXPECT_TRUE(report["sets"][0][key].is_null()) << key;
}

TEST(ValidationJson, HasRegretUnderTheNamesThatScriptsRelyOn) {
  const Json report =
      validation_json(one_set(all_of({{1, 3}, {2, 2}, {3, 4}, {4, 5}}, "g")), RegretDetail::groups)["sets"][0];
  EXPECT_NEAR(report["regret"]["mean_pct"], 50, 1e-6);
  EXPECT_NEAR(report["regret"]["worst_pct"], 50, 1e-6);
  EXPECT_EQ(report["groups"][0]["configurations"].size(), 4u);
  EXPECT_EQ(report["groups"][0]["configurations"][0]["predicted_s"], 1);
}

TEST(ValidationHtml, IsOnePageThatNeedsNothingElse) {
  std::vector<PredictedRun> runs = all_of({{1, 1.2}, {20, 18}}, "g");
  runs[0].run.id = "a & <b>";
  const std::string page = validation_html(one_set(std::move(runs)));
  EXPECT_THAT(page, HasSubstr("<svg class=\"scatter\""));
  EXPECT_THAT(page, HasSubstr("a &amp; &lt;b&gt;: measured 1.20 s, predicted 1.00 s (-17 %)"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  for (const char* foreign : {"src=", "<script", "@import", "url(", "href=\"http"})
    EXPECT_THAT(page, testing::Not(HasSubstr(foreign)));
}

}  // namespace
}  // namespace stepcast::score_test
