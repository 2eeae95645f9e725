#include "calibration/validation/recorded_accuracy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::recorded_accuracy_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ValidationScores scores_of(double mape, std::size_t rows, std::size_t covered) {
  ValidationScores out;
  SetScore set;
  set.name = "set";
  set.mape = mape;
  set.rows = rows;
  set.covered = covered;
  out.runs.push_back(std::move(set));
  return out;
}

const Json kRecorded{{"sets", {{"set", {{"mape_pct", 7.0}, {"rows", 10}, {"covered", 9}}}}}};

TEST(RecordedAccuracy, ToleratesHalfAPoint) {
  EXPECT_THAT(worse_than_recorded(scores_of(7.5, 10, 9), kRecorded), IsEmpty());
  EXPECT_THAT(worse_than_recorded(scores_of(3, 10, 10), kRecorded), IsEmpty());
  EXPECT_THAT(worse_than_recorded(scores_of(7.51, 10, 9), kRecorded),
              ElementsAre("set: mean error 7.51 %, recorded 7.00 %"));
}

TEST(RecordedAccuracy, FewerCoveredRowsAndUnknownSetsAreWorse) {
  EXPECT_THAT(worse_than_recorded(scores_of(7, 10, 8), kRecorded), ElementsAre("set: 8 rows covered, recorded 9"));
  EXPECT_THAT(worse_than_recorded(scores_of(7, 10, 9), Json{{"sets", Json::object()}}),
              ElementsAre("set: no figure is recorded"));
}

TEST(RecordedAccuracy, GrowthNeedsAReasonThatNamesBothFigures) {
  const ValidationScores grown = scores_of(9.04, 10, 9);
  EXPECT_THAT(unexplained_growth(grown, kRecorded, {}), ElementsAre(HasSubstr("9.04 %")));
  EXPECT_THAT(unexplained_growth(grown, kRecorded, {{"set", 7.0, 8.0, "another time"}}), testing::SizeIs(1));
  EXPECT_THAT(unexplained_growth(grown, kRecorded, {{"set", 7.0, 9.0, "rows were added"}}), IsEmpty());
}

TEST(RecordedAccuracy, PeaksOfMemoryCountApart) {
  ValidationScores scores = scores_of(7, 10, 9);
  scores.runs.front().memory_mape = 2;
  const Json recorded = recorded_form(scores);
  EXPECT_EQ(recorded["sets"]["set"]["memory_mape_pct"], 2.0);
  scores.runs.front().memory_mape = 2.51;
  EXPECT_THAT(worse_than_recorded(scores, recorded), ElementsAre("set memory: mean error 2.51 %, recorded 2.00 %"));
  EXPECT_THAT(unexplained_growth(scores, recorded, {{"set memory", 2.0, 2.5, "peaks were added"}}), IsEmpty());
}

TEST(RecordedAccuracy, WhatIsRecordedIsNotWorse) {
  const ValidationScores scores = scores_of(12.345678, 10, 9);
  EXPECT_THAT(worse_than_recorded(scores, recorded_form(scores)), IsEmpty());
}

}  // namespace
}  // namespace stepcast::recorded_accuracy_test
