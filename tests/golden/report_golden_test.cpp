#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"

namespace stepcast::report_golden_test {
namespace {

/// Reports of the shipped scenarios as they were when somebody last looked at them. After a change that is meant:
/// tests/golden/update.sh, and read the difference.
class GoldenReport : public testing::TestWithParam<std::string> {};

TEST_P(GoldenReport, IsAsItWas) {
  const std::string base = STEPCAST_SOURCE_DIR "/tests/golden/reports/" + GetParam();
  EXPECT_EQ(stepcast_run({"run", scenario_file(GetParam())}).out, read_text(base + ".txt"));
  EXPECT_EQ(stepcast_run({"run", scenario_file(GetParam()), "--json"}).out, read_text(base + ".json"));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, GoldenReport, testing::ValuesIn(shipped_scenarios()),
                         [](const auto& test) { return test_name_of(test.param); });

}  // namespace
}  // namespace stepcast::report_golden_test
