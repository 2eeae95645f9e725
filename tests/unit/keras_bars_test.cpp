#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checks/measured/measured_results.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::keras_bars_test {
namespace {

MeasuredResults measured(const std::string& text) {
  const ScratchFolder folder;
  std::ofstream(folder / "fit.log", std::ios::binary) << text;
  return read_measured(folder / "fit.log", MeasuredFormat::automatic, {});
}

SampleParts step_times(const std::string& text) { return measured(text).samples.at("step_time_s"); }

TEST(KerasBars, EachEpochHasATimeOfItsSteps) {
  EXPECT_EQ(step_times("Epoch 1/2\n100/100 - 12s - 118ms/step - accuracy: 0.81 - loss: 0.61\n"
                       "Epoch 2/2\n100/100 - 5s - 51ms/step - accuracy: 0.91 - loss: 0.31\n"),
            (SampleParts{{0.118, 0.051}}));
  EXPECT_EQ(step_times("Epoch 1/1\r\n100/100 [======] - 300s 3s/step - loss: 0.61\r\n"), (SampleParts{{3}}));
}

// A bar is drawn over itself, in colours, and once more when it has validated.
TEST(KerasBars, TheLastStateOfABarCounts) {
  EXPECT_EQ(step_times("Epoch 1/2\n"
                       "\r  1/100 \x1b[37m━━━━\x1b[0m \x1b[1m1:10\x1b[0m 700ms/step - loss: 2.3"
                       "\b\b\b\r \x1b[1m100/100\x1b[0m \x1b[32m━━━━\x1b[0m \x1b[1m0s\x1b[0m 60ms/step - loss: 0.6"
                       "\b\b\b\r \x1b[1m100/100\x1b[0m \x1b[32m━━━━\x1b[0m \x1b[1m8s\x1b[0m 61ms/step - loss: 0.6 - "
                       "val_loss: 0.7\n"
                       "Epoch 2/2\n"
                       " 50/100 ━━━━ 2s 52ms/step - loss: 0.4\n"),
            (SampleParts{{0.061, 0.052}}));
}

TEST(KerasBars, EvaluationsAreNoSteps) {
  EXPECT_EQ(step_times("Epoch 1/1\n100/100 ━━━━ 5s 51ms/step - loss: 0.6\n20/20 ━━━━ 1s 9ms/step - loss: 0.5\n"),
            (SampleParts{{0.051}}));
  EXPECT_EQ(step_times("Epoch 1/1\n100/100 ━━━━ 5s 51ms/step - loss: 0.6\n100/100 ━━━━ 1s 9ms/step - loss: 0.5\n"),
            (SampleParts{{0.051}}));
  // fit of one epoch names none.
  EXPECT_EQ(step_times("614/614 ━━━━ 2s 3ms/step - loss: 0.57\n6867/6867 ━━━━ 49s 7ms/step - loss: 0.86\n"
                       "10/10 ━━━━ 90s 9s/step\n"),
            (SampleParts{{0.007}}));
}

TEST(KerasBars, OlderOnesCountSamples) {
  const MeasuredResults run = measured("Epoch 1/1\n60000/60000 [====] - 5s 80us/sample - loss: 0.3 - acc: 0.9\n");
  EXPECT_EQ(run.samples.at("samples_per_s"), (SampleParts{{12500}}));
}

// Keras 2 validates before it stops the clock.
TEST(KerasBars, StepsThatHoldAValidationAreNone) {
  const std::string validated = "Epoch 1/2\n100/100 [====] - 12s 118ms/step - loss: 0.6 - val_loss: 0.5\n";
  EXPECT_EQ(step_times(validated + "Epoch 2/2\n100/100 [====] - 5s 51ms/step - loss: 0.3\n"), (SampleParts{{0.051}}));
  try {
    measured(validated);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("hold the validation of each epoch"));
  }
}

}  // namespace
}  // namespace stepcast::keras_bars_test
