#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit/step/step_fit.hpp"
#include "models/frameworks/prediction_errors.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::fit_steps_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(FitSteps, AStepThatIsAsPredictedMovesNothing) {
  auto scenario = std::make_shared<Scenario>(test::shipped("gpt3-175b-a100-1024.json"));
  const StepFit fit = fit_steps({{"step", scenario, step_time_with(*scenario, {})}});
  for (const SoftwareConstant& constant : fit.constants)
    EXPECT_NEAR(constant.value, constant.shipped, 1e-6 * std::max(1.0, constant.shipped)) << constant.key;
  EXPECT_NEAR(fit.rows.front().after_s / fit.rows.front().measured_s, 1, 1e-9);
}

TEST(FitSteps, MovesSoftwareAndRefusesWhatItCannotExplain) {
  auto scenario = std::make_shared<Scenario>(test::shipped("gpt3-175b-a100-1024.json"));
  const Seconds shipped = step_time_with(*scenario, {});
  const StepFit slower = fit_steps({{"step", scenario, shipped * 1.06}});
  EXPECT_TRUE(slower.explained);
  EXPECT_NEAR(slower.rows.front().after_s / slower.rows.front().measured_s, 1, 0.03);
  for (const SoftwareConstant& constant : slower.constants) EXPECT_LT(std::abs(constant.deviation), 2) << constant.key;
  for (const double times : {0.7, 1.2, 1.3, 1.4, 4.0}) {
    const StepFit far = fit_steps({{"step", scenario, shipped * times}});
    EXPECT_FALSE(far.explained) << times;
    EXPECT_THAT(far.words, Contains(HasSubstr(times > 1 ? "the slowest that" : "the quickest that"))) << times;
  }
}

TEST(FitSteps, AGapInsideOfTheForecastsOwnErrorIsExplainedAndWhatIsLeftOfItIsSaid) {
  for (const char* name : {"llama-65b-a100-2048.json", "llama3-405b-h100-16384.json", "llama3-70b-h100-512.json",
                           "resnet50-v100-8nodes.json"}) {
    auto scenario = std::make_shared<Scenario>(test::shipped(name));
    const Seconds shipped = step_time_with(*scenario, {});
    const double own = expected_error(*scenario, prediction_errors()).share_80;
    for (const double gap : {-own, -0.6 * own, 0.6 * own, own}) {
      const StepFit fit = fit_steps({{"step", scenario, shipped * std::exp(gap)}});
      EXPECT_TRUE(fit.explained) << name << " " << gap;
      EXPECT_THAT(fit.words, testing::IsEmpty()) << name << " " << gap;
      const double left = fit.rows.front().left_percent();
      EXPECT_LT(std::abs(left), 100 * std::expm1(std::abs(gap))) << name << " " << gap;
      EXPECT_EQ(fit.left.size(), std::abs(std::log1p(left / 100)) > 0.03 ? 1U : 0U) << name << " " << left;
      EXPECT_EQ(step_calibration(fit, "lab", "2026-11-21").notes, fit.left);
      for (const SoftwareConstant& constant : fit.constants)
        EXPECT_LE(std::abs(constant.deviation), 2 + 1e-9) << name << " " << constant.key;
    }
  }
}

TEST(FitSteps, TheModelsOwnErrorAndTheSoftwaresAddAsIndependentOnesDo) {
  auto scenario = std::make_shared<Scenario>(test::shipped("llama3-70b-h100-512.json"));
  const Seconds shipped = step_time_with(*scenario, {});
  const double own = expected_error(*scenario, prediction_errors()).share_80;
  const auto refused = [&](double gap) { return !fit_steps({{"step", scenario, shipped * std::exp(gap)}}).explained; };
  // The software's reach is a few per cent here, so its square adds little.
  EXPECT_FALSE(refused(own));
  EXPECT_TRUE(refused(1.3 * own));
  EXPECT_TRUE(refused(-1.3 * own));
  EXPECT_THAT(fit_steps({{"step", scenario, shipped * std::exp(1.3 * own)}}).words,
              Contains(HasSubstr("this model's own error (80 % of like runs took")));
}

}  // namespace
}  // namespace stepcast::fit_steps_test
