// Constants with priors: of which of them measurements say anything.
#include "calibration/fit/prior_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace stepcast::prior_fit_test {
namespace {

// Ten rows of one constant, none of the second, whose interval stays as wide as its prior's.
TEST(PriorFit, TellsConstantsThatNoRowTells) {
  const std::vector<PriorConstant> constants{{"seen", 2.0, 0.3, 0.1, 10}, {"unseen", 5.0, 0.2, 1, 20}};
  PriorFitRows rows;
  rows.weights.assign(10, 1.0);
  rows.predict = [](const std::vector<double>& values, int constant, double* residuals) {
    if (constant == 1) return;
    for (int i = 0; i < 10; ++i) residuals[i] = std::log(values[0] / 2.1);
  };
  const PriorFit fit = fit_with_priors(constants, rows, {{0, 0}});
  EXPECT_NEAR(fit.values[0], 2.1, 0.01);
  EXPECT_NEAR(fit.values[1], 5.0, 1e-9);
  const std::vector<bool> told = told_by_rows({0.3, 0.2}, fit);
  EXPECT_TRUE(told[0]);
  EXPECT_FALSE(told[1]);
}

}  // namespace
}  // namespace stepcast::prior_fit_test
