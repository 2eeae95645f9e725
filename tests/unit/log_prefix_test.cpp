#include "calibration/importers/log_prefix.hpp"

#include <gtest/gtest.h>

namespace stepcast::log_prefix_test {
namespace {

std::string stripped(std::string_view before, std::string_view line) {
  LogPrefix prefix;
  prefix.learn(before);
  return std::string(prefix.strip(line));
}

TEST(LogPrefix, IsThatOfLaunchersAndCollectorsOfLogs) {
  EXPECT_EQ(stripped("[1,0]<stdout>:", "[1,0]<stdout>:   8  2"), "8  2");
  EXPECT_EQ(stripped("[prterun-n1-77@1,0]<stdout>: ", "[prterun-n1-77@1,3]<stdout>: x"), "x");
  EXPECT_EQ(stripped("0: ", "12:   8  2"), "8  2");
  EXPECT_EQ(stripped("[0] ", "[15] 8"), "8");
  EXPECT_EQ(stripped("worker-0  | ", "worker-0  |  8"), "8");
  EXPECT_EQ(stripped("2026-11-01T12:00:00.5Z ", "2026-11-01T12:00:01.123456Z  8  2"), "8  2");
  EXPECT_EQ(stripped("2026-11-01 12:00:00,5 - INFO - ", "2026-11-01 12:00:09,77 - INFO -   8"), "8");
}

TEST(LogPrefix, OfNoneLosesBlanksOnly) {
  EXPECT_EQ(stripped("", "   8  2 "), "8  2");
  EXPECT_EQ(stripped("  ", "8: 2"), "8: 2");
}

TEST(LogPrefix, ALineWithoutItStaysAsItIs) {
  EXPECT_EQ(stripped("node1: ", "  1048576  262144"), "1048576  262144");
  EXPECT_EQ(stripped("[1,0]<stdout>:", "[1,0]<stderr>:x"), "[1,0]<stderr>:x");
  EXPECT_EQ(stripped("0: ", ""), "");
}

}  // namespace
}  // namespace stepcast::log_prefix_test
