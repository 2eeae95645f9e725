#include "sim/protocol/child_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace stepcast::child_process_test {
namespace {

using testing::HasSubstr;

TEST(ChildProcess, HandsBackMoreThanAPipeHolds) {
  const auto text = [] { return std::string(3'000'000, 'x'); };
  EXPECT_EQ(run_in_child(text), text());
}

TEST(ChildProcess, HandsBackNothingToo) {
  EXPECT_EQ(run_in_child([] { return std::string(); }), "");
}

TEST(ChildProcess, RethrowsWithTheText) {
  try {
    run_in_child([]() -> std::string { throw std::runtime_error("no such link"); });
    FAIL();
  } catch (const ChildDied&) {
    FAIL() << "an exception is not a death";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no such link");
  }
}

TEST(ChildProcess, ADeathBySignalIsAnError) {
  try {
    run_in_child([]() -> std::string {
      ::raise(SIGKILL);
      return "";
    });
    FAIL();
  } catch (const ChildDied& error) {
    EXPECT_THAT(error.what(), HasSubstr("signal 9"));
  }
}

TEST(ChildProcess, LeavingWithoutAResultIsAnError) {
  EXPECT_THROW(run_in_child([]() -> std::string { ::_exit(0); }), ChildDied);
}

}  // namespace
}  // namespace stepcast::child_process_test
