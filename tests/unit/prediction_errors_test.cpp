#include "models/frameworks/prediction_errors.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/scenario/scenario.hpp"

namespace stepcast::prediction_errors_test {
namespace {

class Evidence : public testing::Test {
 protected:
  Evidence() {
    FrameworkErrors megatron;
    megatron.runs = {{"h100", 40}, {"b200", 2}};
    megatron.error_80 = {{"h100", 10}, {"b200", 3}};
    megatron.other_accelerator = 20;
    FrameworkErrors jax;
    jax.runs = {{"tpu", 12}};
    jax.error_80 = {{"tpu", 8}};
    errors.frameworks = {{"megatron", megatron}, {"jax", jax}};
    errors.other_framework = 30;
  }

  ExpectedError of(const std::string& framework, const std::string& accelerator) {
    part.id = accelerator;
    FrameworkProfile profile;
    profile.id = framework;
    Scenario scenario;
    scenario.accelerator = &part;
    scenario.framework = std::make_shared<const FrameworkProfile>(profile);
    return expected_error(scenario, errors);
  }

  PredictionErrors errors;
  Accelerator part;
};

TEST_F(Evidence, RunsOfTheFrameworkOnTheAcceleratorAreTheBest) {
  const ExpectedError found = of("megatron", "h100");
  EXPECT_EQ(found.grade, EvidenceGrade::together);
  EXPECT_NEAR(found.share_80, std::log(1.10), 1e-12);
}

// Two runs say little about the next one: the error of a new accelerator holds.
TEST_F(Evidence, AFewRunsAreNotEnough) {
  const ExpectedError found = of("megatron", "b200");
  EXPECT_EQ(found.grade, EvidenceGrade::apart);
  EXPECT_NEAR(found.share_80, std::log(1.20), 1e-12);
}

TEST_F(Evidence, FrameworkAndAcceleratorMeasuredApart) {
  EXPECT_EQ(of("megatron", "tpu").grade, EvidenceGrade::apart);
  // Runs of one accelerator only say nothing of its error on others.
  EXPECT_NEAR(of("jax", "h100").share_80, std::log(1.30), 1e-12);
}

TEST_F(Evidence, OneOfTheTwo) {
  EXPECT_EQ(of("megatron", "mi300x").grade, EvidenceGrade::one);
  EXPECT_EQ(of("mxnet", "h100").grade, EvidenceGrade::one);
  EXPECT_NEAR(of("mxnet", "h100").share_80, std::log(1.30), 1e-12);
}

TEST_F(Evidence, NeitherIsTheWidest) {
  const ExpectedError found = of("mxnet", "mi300x");
  EXPECT_EQ(found.grade, EvidenceGrade::none);
  EXPECT_GT(found.share_80, std::log(1.30));
}

TEST(PredictionErrorsFile, IsSound) {
  const PredictionErrors& shipped = prediction_errors();
  EXPECT_GT(shipped.other_framework, 0);
  for (const auto& [framework, errors] : shipped.frameworks)
    for (const auto& [accelerator, runs] : errors.runs) {
      EXPECT_GT(runs, 0) << framework;
      EXPECT_TRUE(errors.error_80.contains(accelerator)) << framework << " " << accelerator;
    }
}

}  // namespace
}  // namespace stepcast::prediction_errors_test
