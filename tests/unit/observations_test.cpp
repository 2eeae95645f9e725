#include "calibration/validation/observations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"

namespace stepcast::observations_test {
namespace {

using testing::HasSubstr;

PredictedRun predicted(double rate, double measured) {
  PredictedRun out;
  out.predicted = rate;
  out.run.metric = Metric::tokens_per_s_per_gpu;
  out.run.measured = measured;
  return out;
}

const char* const kTable =
    "source,precision,tokens_per_s_per_gpu,step_time_s\nlab one,bf16,100,2\nlab one,fp8,150,1\nlab two,bf16,90,\n";

Json spec(const char* figures) {
  return {{"table", "t"}, {"observations", {{{"number", 1}, {"title", "faster"}, {"figures", Json::parse(figures)}}}}};
}

TEST(Observations, CompareTheSameRowsAsMeasuredAndAsPredicted) {
  const CsvTable table = parse_csv(kTable, "t.csv");
  const std::vector<PredictedRun> runs{predicted(110, 100), predicted(143, 150), predicted(90, 90)};
  const Json figures = spec(R"([
      {"what": "ratio", "of": {"source": "*one", "precision": "fp8"},
       "against": {"source": "*one", "precision": "bf16"}},
      {"what": "mean", "of": {"source": "lab*"}},
      {"what": "time", "column": "step_time_s", "of": {"precision": "fp8"}},
      {"what": "spread", "spread": true, "of": {"precision": "bf16"}}])");
  const std::vector<ObservedFigure> out = observe(figures, table, runs).front().figures;
  EXPECT_NEAR(out[0].observed, 1.5, 1e-12);
  EXPECT_NEAR(*out[0].predicted, 1.3, 1e-12);
  EXPECT_TRUE(out[0].is_ratio);
  EXPECT_NEAR(out[1].observed, std::cbrt(100.0 * 150 * 90), 1e-9);
  EXPECT_FALSE(out[1].is_ratio);
  EXPECT_NEAR(*out[2].predicted, 150.0 / 143, 1e-9);  // slower than measured: a longer step
  EXPECT_NEAR(out[3].observed, 100.0 / 90, 1e-9);
  EXPECT_NEAR(*out[3].predicted, 110.0 / 90, 1e-9);
}

TEST(Observations, SayWhyNothingIsPredicted) {
  PredictedRun refused;
  refused.reason = "no such network";
  const std::vector<PredictedRun> runs{predicted(110, 100), refused, predicted(90, 90)};
  const std::vector<Observation> out =
      observe(spec(R"([{"what": "ratio", "of": {"precision": "fp8"}, "against": {"precision": "bf16"}}])"),
              parse_csv(kTable, "t.csv"), runs);
  EXPECT_FALSE(out[0].figures[0].predicted);
  EXPECT_EQ(out[0].figures[0].reason, "no such network");
  EXPECT_NEAR(out[0].figures[0].observed, 150 / std::sqrt(100.0 * 90), 1e-9);
}

TEST(Observations, OfSeveralRowsThePredictedOnesCountOnBothSides) {
  PredictedRun refused;
  refused.reason = "no such network";
  const std::vector<Observation> out = observe(spec(R"([{"what": "bf16", "of": {"precision": "bf16"}}])"),
                                               parse_csv(kTable, "t.csv"), {predicted(110, 100), refused, refused});
  EXPECT_NEAR(out[0].figures[0].observed, 100, 1e-9);
  EXPECT_NEAR(*out[0].figures[0].predicted, 110, 1e-9);
}

TEST(Observations, ASelectionOfNothingIsAFault) {
  const std::vector<PredictedRun> runs(3);
  try {
    observe(spec(R"([{"what": "x", "of": {"source": "lab three"}}])"), parse_csv(kTable, "t.csv"), runs);
    FAIL() << "no fault";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("selects no tokens_per_s_per_gpu"));
  }
}

TEST(Observations, ShippedOnesAreFifteenAndEachSelectsRows) {
  const Json shipped = shipped_observations();
  const std::string name = observed_set(shipped);
  const CsvTable table = read_csv(run_set_file(name));
  const std::vector<Observation> out = observe(shipped, table, std::vector<PredictedRun>(table.rows.size()));
  std::set<int> numbers;
  for (const Observation& one : out) {
    numbers.insert(one.number);
    EXPECT_FALSE(one.figures.empty()) << one.number;
    for (const ObservedFigure& figure : one.figures) EXPECT_GT(figure.observed, 0) << figure.what;
  }
  EXPECT_EQ(numbers.size(), 15u);
}

}  // namespace
}  // namespace stepcast::observations_test
