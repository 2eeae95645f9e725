#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/lowering.hpp"
#include "planner/launch/launch.hpp"
#include "tests/unit/shipped.hpp"

// strategy.attention_kernel: another generation of attention's kernels than the framework's profile has.
namespace stepcast::attention_kernel_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Llama 3 70B on H100, whose compute profile has figures of flash-triton, flash-2 and native.
Scenario with(const std::string& kernel) {
  std::vector<std::string> changes;
  if (!kernel.empty()) changes.push_back("strategy.attention_kernel=" + kernel);
  return test::shipped("llama3-70b-h100-512.json", changes);
}

double step_of(const Scenario& scenario) { return estimate(lower(scenario)).step_time.value(); }

TEST(AttentionKernel, NewerGenerationsAreFaster) {
  const double native = step_of(with("native"));
  EXPECT_EQ(step_of(with("")), native);  // Megatron-LM's own
  EXPECT_LT(native, step_of(with("flash-2")));
  EXPECT_LE(step_of(with("flash-2")), step_of(with("flash-triton")));
  EXPECT_LE(step_of(with("flash-triton")), step_of(with("flash-1")));
  EXPECT_LT(step_of(with("flash-1")), step_of(with("unfused")));
}

TEST(AttentionKernel, UnfusedKeepsItsScores) {
  const auto activations = [](const std::string& kernel) {
    const Scenario scenario = with(kernel);
    return memory_of(lower(scenario)).stages.front().activations.value();
  };
  EXPECT_EQ(activations("flash-2"), activations("native"));
  EXPECT_GT(activations("unfused"), 2 * activations("native"));
}

TEST(AttentionKernel, AGenerationWithoutAFigureIsSaid) {
  const auto said =
      Contains(HasSubstr("attention at the rate of flash-triton kernels: nvidia-hopper has no figure of flash-1"));
  EXPECT_THAT(with("flash-1").assumptions, said);
  EXPECT_THAT(with("flash-2").assumptions, Not(Contains(HasSubstr("no figure of"))));
}

TEST(AttentionKernel, IsWrittenForMegatron) {
  EXPECT_THAT(megatron_arguments(with("unfused")), Contains("--attention-backend unfused"));
  EXPECT_THAT(megatron_arguments(with("flash-2")), Contains("--attention-backend flash"));
  EXPECT_THAT(megatron_arguments(with("")), Not(Contains(HasSubstr("--attention-backend"))));
  EXPECT_THAT(beyond_megatron_arguments(with("flash-1")), Contains("attention by flash-1"));
}

TEST(AttentionKernel, IsWrittenForPyTorchAndSaidOfDeepSpeed) {
  const auto of = [](const std::string& framework) {
    return test::shipped("workstation-single-gpu.json",
                         {"strategy.framework=" + framework, "strategy.attention_kernel=native"});
  };
  EXPECT_EQ(torch_config(of("pytorch-ddp")).at("attention_kernel"), "native");
  EXPECT_THAT(beyond_deepspeed_config(of("deepspeed")), Contains("attention by native"));
}

}  // namespace
}  // namespace stepcast::attention_kernel_test
