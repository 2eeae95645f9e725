#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"

namespace stepcast::accuracy_guard_test {
namespace {

/// A change that makes predictions worse has to say so: stepcast validate --record, calibration/accuracy/README.md.
TEST(Accuracy, NoSetIsPredictedWorseThanRecorded) {
  const Finished run = stepcast_run({"validate", "--check", STEPCAST_SOURCE_DIR "/calibration/accuracy/recorded.json"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
}

}  // namespace
}  // namespace stepcast::accuracy_guard_test
