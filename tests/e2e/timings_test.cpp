// Timings of benchmarks beside accepted ratios.
#include "checks/timings.hpp"

#include <gmock/gmock.h>

#include "tests/e2e/process.hpp"

namespace stepcast::timings_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// One benchmark of Google Benchmark's JSON.
Json run(const char* name, double time, const char* unit = "us") {
  return {{"name", name}, {"run_type", "iteration"}, {"cpu_time", time}, {"real_time", 7 * time}, {"time_unit", unit}};
}

class Timings : public testing::Test {
 protected:
  std::string file(const Json& runs) {
    const std::string out = (folder_ / fmt::format("{}.json", ++files_)).string();
    write_file(out, Json{{"context", {{"date", "today"}}}, {"benchmarks", runs}}.dump());
    return out;
  }
  std::vector<Fault> faults(const std::string& file) {
    try {
      read_timings({file}, "reference");
    } catch (const InputError& error) {
      return error.faults();
    }
    return {};
  }
  ScratchFolder folder_;
  int files_ = 0;
};

TEST_F(Timings, AreCountedInTheReferenceOfTheirOwnFile) {
  const std::string slow = file({run("reference", 2), run("a", 3, "ms")});
  const std::string fast = file({run("reference", 1), run("b", 500, "ns"), run("c/manual_time", 2)});
  const Ratios ratios = read_timings({slow, fast}, "reference");
  EXPECT_THAT(ratios, SizeIs(3));
  EXPECT_DOUBLE_EQ(ratios.at("a"), 1500);
  EXPECT_DOUBLE_EQ(ratios.at("b"), 0.5);
  EXPECT_DOUBLE_EQ(ratios.at("c/manual_time"), 14);  // what it measured itself
}

TEST_F(Timings, OfRepetitionsTheShortestCountsAndMeansDoNot) {
  Json mean = run("a", 1);
  mean["run_type"] = "aggregate";
  EXPECT_DOUBLE_EQ(
      read_timings({file({run("reference", 3), run("a", 9), run("reference", 2), run("a", 8), mean})}, "reference")
          .at("a"),
      4);
}

TEST_F(Timings, ForeignFilesOfAnyShapeAreFaults) {
  for (const Json& change : {Json{{"time_unit", 5}}, Json{{"run_type", nullptr}}, Json{{"error_occurred", "yes"}}}) {
    Json odd = run("a", 1);
    odd.update(change);
    EXPECT_THAT(faults(file({run("reference", 1), odd})), SizeIs(1)) << change.dump();
  }
}

TEST_F(Timings, FaultsAreNamed) {
  EXPECT_THAT(faults(file({run("reference", 1), run("a", -1)})).at(0).text(), HasSubstr("/benchmarks/1"));
  EXPECT_THAT(faults(file(Json::array({run("other", 1)}))).at(0).text(), HasSubstr("reference"));
  Json failed = run("a", 1);
  failed["error_occurred"] = true;
  EXPECT_THAT(faults(file({run("reference", 1), failed})).at(0).text(), HasSubstr("\"a\" failed"));
  const std::string list = (folder_ / "list.json").string();
  write_file(list, "[]");
  EXPECT_THAT(faults(list).at(0).text(), HasSubstr("no list of benchmarks"));
}

TEST_F(Timings, SlowerThanToleratedIsARegressionAndWhatIsGoneAnError) {
  TimingsBaseline accepted;
  accepted.reference = "reference";
  accepted.tolerance_percent = 20;
  accepted.ratios = {{"a", 10}, {"b", 10}, {"c", 10}};
  accepted.tolerances = {{"b", 60}};
  const auto verdicts = [&](const Ratios& now) { return check_timings("benchmarks", now, accepted, {}); };
  EXPECT_TRUE(verdicts({{"a", 11.9}, {"b", 15.9}, {"c", 1}}).passed());
  EXPECT_FALSE(verdicts({{"a", 12.1}, {"b", 10}, {"c", 10}}).passed());
  EXPECT_FALSE(verdicts({{"a", 10}, {"b", 16.1}, {"c", 10}}).passed());
  EXPECT_FALSE(verdicts({{"a", 10}, {"b", 10}}).passed());
  EXPECT_TRUE(check_timings("benchmarks", {{"a", 13}, {"b", 1}, {"c", 1}, {"d", 1}}, accepted, {{"a", 40}}).passed());
}

TEST_F(Timings, TheProgramAcceptsComparesAndFails) {
  const std::string accepted = (folder_ / "accepted.json").string();
  const std::string before = file({run("reference", 1), run("a", 10)}),
                    after = file({run("reference", 2), run("a", 40)});
  const Finished written =
      stepcast_run({"check", "--timings", before, "--baseline", accepted, "--update", "--reference", "reference"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(stepcast_run({"check", "--timings", before, "--baseline", accepted}).code, 0);
  const Finished slower = stepcast_run({"check", "--timings", after, "--baseline", accepted, "--json"});
  EXPECT_EQ(slower.code, 1);
  EXPECT_DOUBLE_EQ(slower.json().at("scenarios")[0].at("metrics")[0].at("change_percent"), 100);
  EXPECT_EQ(stepcast_run({"check", "--timings", after, "--baseline", accepted, "--tolerance", "a=150%"}).code, 0);
  EXPECT_EQ(stepcast_run({"check", "--timings", after, "--baseline", accepted, "--tolerance", "b=150%"}).code, 2);
  EXPECT_EQ(stepcast_run({"check", "--timings", after}).code, 2);
}

}  // namespace
}  // namespace stepcast::timings_test
