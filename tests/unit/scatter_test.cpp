#include "report/scatter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace stepcast::scatter_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string plain(double value) { return std::to_string(static_cast<int>(value)); }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

Scatter two_series() {
  return {"time", plain, 0.1, {{"one", {{1, 1, "a"}, {100, 80, "b"}}}, {"two & more", {{10, 12, "<c>"}}}}};
}

TEST(Scatter, HasAMarkATitleAndALegendForEverything) {
  const std::string svg = scatter_svg(two_series());
  EXPECT_THAT(svg, HasSubstr("<title>a</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;c&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("one (2)"));
  EXPECT_THAT(svg, HasSubstr("two &amp; more (1)"));
  EXPECT_THAT(svg, HasSubstr("within 10 %"));
  EXPECT_EQ(count(svg, "<title>"), 3u);
}

TEST(Scatter, WhatIsPredictedAsMeasuredLiesOnTheDiagonal) {
  Scatter scatter = two_series();
  scatter.series = {{"s", {{1, 1, "low"}, {50, 50, "high"}}}};
  const std::string svg = scatter_svg(scatter);
  // Both axes span the same range, so places of equal values have x − left = bottom − y.
  const std::regex mark("cx=\"([0-9.]+)\" cy=\"([0-9.]+)\" r=\"3.4\"><title>(low|high)");
  int marks = 0;
  double sum = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), mark), end; at != end; ++at, ++marks) {
    const double here = std::stod((*at)[1]) + std::stod((*at)[2]);
    if (marks > 0) {
      EXPECT_NEAR(here, sum, 0.2);
    }
    sum = here;
  }
  EXPECT_EQ(marks, 2);
}

TEST(Scatter, MarksThatWouldCoverOneAnotherAreOneThatCounts) {
  Scatter scatter = two_series();
  scatter.series = {{"s", {{1, 1, "first"}, {1, 1, "second"}, {1, 1, "third"}, {90, 90, "far"}}}};
  const std::string svg = scatter_svg(scatter);
  EXPECT_EQ(count(svg, "<title>"), 2u);
  EXPECT_THAT(svg, HasSubstr("first (and 2 more here)"));
  EXPECT_THAT(svg, HasSubstr("s (4)"));
}

TEST(Scatter, SeriesBeyondTheColoursDifferInShape) {
  Scatter scatter = two_series();
  scatter.series.clear();
  for (int i = 0; i < kScatterColours + 1; ++i) scatter.series.push_back({std::to_string(i), {{1.0 + i, 2, "point"}}});
  const std::string svg = scatter_svg(scatter);
  EXPECT_THAT(svg, HasSubstr("<path class=\"c0\""));
  EXPECT_THAT(svg, HasSubstr("<circle class=\"c7\""));
}

TEST(Scatter, OfNothingIsADrawingWithoutMarks) {
  const std::string svg = scatter_svg({"time", plain, 0.1, {}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(count(svg, "<title>"), 0u);
}

}  // namespace
}  // namespace stepcast::scatter_test
