#include "report/scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cli/size_list.hpp"
#include "report/svg.hpp"

namespace stepcast::scaling_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ScalingRow row(int nodes, double samples_per_s) {
  ScalingRow out;
  out.nodes = nodes;
  out.global_batch = 64;
  out.prediction.emplace();
  Prediction& p = *out.prediction;
  p.step_time = Seconds(64 / samples_per_s);
  p.samples_per_s = samples_per_s;
  p.compute = p.step_time * 0.8;
  p.communication.total = p.communication.exposed = p.step_time * 0.15;
  p.communication.by_dimension["data"] = {p.communication.total, p.communication.exposed};
  p.bubble = p.step_time * 0.05;
  p.devices = nodes * 8;
  p.nodes = nodes;
  return out;
}

ScalingRow illegal(int nodes) {
  ScalingRow out;
  out.nodes = nodes;
  out.faults = {{"f.json", "/strategy", "16 devices are not enough", ""}};
  return out;
}

// 100 samples/s on 1 node. 2 nodes: 180, so 180/2/100 = 0.9, the added node gives 0.8. 4 nodes: 260, so 0.65; the two
// added give 80/2/100 = 0.4, under a half: it pays up to 2.
TEST(Scaling, FindsWhereAddingNodesStopsPaying) {
  const Scaling s = scaling_of("x", ScalingMode::strong, {row(1, 100), row(2, 180), row(4, 260), row(8, 300)});
  EXPECT_DOUBLE_EQ(s.rows[1].efficiency, 0.9);
  EXPECT_DOUBLE_EQ(*s.rows[1].marginal_efficiency, 0.8);
  EXPECT_DOUBLE_EQ(s.rows[2].efficiency, 0.65);
  EXPECT_DOUBLE_EQ(*s.rows[2].marginal_efficiency, 0.4);
  EXPECT_EQ(s.pays_until, 2);
}

TEST(Scaling, TakesTheSmallestLegalSizeAsReference) {
  const Scaling s = scaling_of("x", ScalingMode::weak, {illegal(1), row(2, 200), illegal(3), row(4, 380)});
  EXPECT_DOUBLE_EQ(s.rows[1].efficiency, 1);
  EXPECT_FALSE(s.rows[1].marginal_efficiency);
  EXPECT_DOUBLE_EQ(s.rows[3].efficiency, 0.95);
  EXPECT_FALSE(s.pays_until);
}

TEST(Scaling, NamesTheLargestLoss) {
  const auto [words, share] = largest_loss(*row(4, 100).prediction);
  EXPECT_EQ(words, "data-parallel communication");
  EXPECT_DOUBLE_EQ(share, 0.15);
}

TEST(Scaling, PrintsIllegalSizesWithTheirReason) {
  const Scaling s = scaling_of("x", ScalingMode::strong, {row(1, 100), illegal(2), row(4, 300)});
  EXPECT_THAT(scaling_text(s), HasSubstr("not possible: 16 devices are not enough"));
  const Json json = scaling_json(s);
  EXPECT_EQ(json["rows"][1]["legal"], false);
  EXPECT_EQ(json["rows"][1]["faults"][0]["pointer"], "/strategy");
  EXPECT_EQ(json["rows"][2]["limited_by"], "data-parallel communication");
  EXPECT_THAT(scaling_text(s), HasSubstr(json["verdict"].get<std::string>()));
  EXPECT_THAT(scaling_text(s), HasSubstr(json["rule"].get<std::string>()));
  const std::string csv = scaling_csv(s);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_THAT(csv, HasSubstr("2,false,"));
}

/// Counts elements and checks that every one that opens is closed in order.
void expect_well_formed(const std::string& document) {
  std::vector<std::string> open;
  for (std::size_t at = document.find('<'); at != std::string::npos; at = document.find('<', at + 1)) {
    const std::size_t end = document.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = document.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.front() == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Svg, IsWellFormedWhateverTheNames) {
  Scaling s = scaling_of("a < b & \"c\"", ScalingMode::strong, {row(1, 100), illegal(2), row(4, 300)});
  const std::string document = scaling_svg(s);
  expect_well_formed(document);
  EXPECT_THAT(document, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(document, HasSubstr("throughput (samples/s)"));
  EXPECT_EQ(document.find("nan"), std::string::npos);
  EXPECT_EQ(document, scaling_svg(s));
}

TEST(Svg, DrawsAStudyWithoutALegalSize) {
  const std::string document = scaling_svg(scaling_of("x", ScalingMode::strong, {illegal(1)}));
  expect_well_formed(document);
  EXPECT_EQ(document.find("nan"), std::string::npos);
}

TEST(SizeList, GoesOnAsTheNumbersBeforeARangeBegan) {
  EXPECT_THAT(parse_sizes("1,2,4..128"), ElementsAre(1, 2, 4, 8, 16, 32, 64, 128));
  EXPECT_THAT(parse_sizes("1..8"), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(parse_sizes("16,32..128"), ElementsAre(16, 32, 64, 128));
  EXPECT_THAT(parse_sizes("10,20..50"), ElementsAre(10, 20, 30, 40, 50));
  EXPECT_THAT(parse_sizes("8,16,24..40"), ElementsAre(8, 16, 24, 32, 40));
  EXPECT_THAT(parse_sizes("1,2,3..5,10"), ElementsAre(1, 2, 3, 4, 5, 10));
  EXPECT_THAT(parse_sizes("32,64..512*2"), ElementsAre(32, 64, 128, 256, 512));
  EXPECT_THAT(parse_sizes("4..100*3"), ElementsAre(4, 12, 36));
  EXPECT_THAT(parse_sizes("1..10+4,16"), ElementsAre(1, 5, 9, 16));
  EXPECT_THAT(parse_sizes("7"), ElementsAre(7));
}

TEST(SizeList, RefusesWhatIsNoList) {
  for (const char* text : {"", "a", "1,,2", "0", "-1", "4,2", "2,2", "8..4", "1,2,4..100000000", "1..", "..4",
                           "3,6..100", "1..8*1", "1..8+0", "1..8*", "1..8*2+1", "1.5", "1..2000", "99999999999"})
    EXPECT_THROW(parse_sizes(text), InputError) << text;
}

}  // namespace
}  // namespace stepcast::scaling_test
