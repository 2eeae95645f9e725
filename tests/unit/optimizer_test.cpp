#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/reliability/checkpoint.hpp"
#include "planner/launch/launch.hpp"
#include "tests/unit/shipped.hpp"

// strategy.optimizer and strategy.parameters_in_16_bit: states, traffic, and what goes with them.
namespace stepcast::optimizer_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

// In fp32 and in 16 bit alone.
TEST(Optimizer, StatesByHand) {
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::adam, 4), 8);
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::adam, 2), 4);
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::adam_16bit, 4), 4);
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::adam_8bit, 4), 2 * (1 + 4.0 / 256));
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::sgd, 4), 4);
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::lion, 2), 2);
  EXPECT_EQ(optimizer_state_bytes(OptimizerKind::adafactor, 4), 0);
}

TEST(Optimizer, TheUsualOneIsTheModels) {
  EXPECT_EQ(usual_optimizer(*test::preset("llama3-8b")), OptimizerKind::adam);
  EXPECT_EQ(usual_optimizer(*test::preset("stable-diffusion-2")), OptimizerKind::adam);
  EXPECT_EQ(usual_optimizer(*test::preset("resnet50")), OptimizerKind::sgd);
}

// Gradient read, parameter and states read and written, the copy that products read written.
TEST(Optimizer, TrafficByHand) {
  const UpdatedParameter mixed{.gradient = 4, .parameter = 4, .copy = 2}, half{.gradient = 2, .parameter = 2};
  EXPECT_EQ(least_update_bytes(OptimizerKind::adam, mixed), 4 + 8 + 16 + 2);
  EXPECT_EQ(least_update_bytes(OptimizerKind::adam, half), 2 + 4 + 8);
  EXPECT_EQ(least_update_bytes(OptimizerKind::lion, mixed), 4 + 8 + 8 + 2);
  EXPECT_EQ(least_update_bytes(OptimizerKind::adafactor, mixed), 8 + 8 + 2);
}

Scenario with(std::vector<std::string> changes) {
  changes.insert(changes.begin(), {"strategy.framework=pytorch-ddp", "strategy.micro_batch=1"});
  return test::shipped("workstation-single-gpu.json", changes);
}

MemoryFootprint memory(const std::vector<std::string>& changes) {
  const Scenario scenario = with(changes);
  return memory_of(lower(scenario)).stages.front();
}

// GPT-2 under automatic mixed precision: 4 bytes of parameter and 8 of moments, else 2 and 2, or those of 8 bit.
TEST(Optimizer, MemoryHoldsItsStates) {
  const double parameters = memory({}).parameters.value() / 4;
  EXPECT_DOUBLE_EQ(memory({}).optimizer.value(), 8 * parameters);
  EXPECT_DOUBLE_EQ(memory({"strategy.optimizer=lion"}).optimizer.value(), 4 * parameters);
  EXPECT_DOUBLE_EQ(memory({"strategy.optimizer=adam-8bit"}).optimizer.value(), 2 * (1 + 4.0 / 256) * parameters);
  const MemoryFootprint half = memory({"strategy.parameters_in_16_bit=true"});
  EXPECT_DOUBLE_EQ(half.parameters.value(), 2 * parameters);
  EXPECT_DOUBLE_EQ(half.optimizer.value(), 4 * parameters);
  EXPECT_EQ(memory({"strategy.optimizer=adam"}).total(), memory({}).total());
}

TEST(Optimizer, MegatronsStatesAreShardedBesideTheirMaster) {
  const auto states = [](std::vector<std::string> changes) {
    const Scenario scenario = test::shipped("llama3-70b-h100-512.json", changes);
    return memory_of(lower(scenario)).stages.front().optimizer.value();
  };
  EXPECT_DOUBLE_EQ(states({"strategy.optimizer=adam-16bit"}) / states({}), (4.0 + 4) / (4 + 8));
}

// Of the stated traffic of Adam, 30 bytes: 14 in 16 bit alone.
TEST(Optimizer, UpdatesTakeTheirTraffic) {
  const auto update = [](const std::vector<std::string>& changes) {
    const Scenario scenario = with(changes);
    return lower(scenario).optimizer.value();
  };
  EXPECT_EQ(update({"strategy.optimizer=adam"}), update({}));
  EXPECT_NEAR(update({"strategy.parameters_in_16_bit=true"}) / update({}), 14.0 / 30, 0.02);
  EXPECT_LT(update({"strategy.optimizer=lion"}), update({"strategy.optimizer=adam"}));
}

TEST(Optimizer, CheckpointsHoldStates) {
  const auto size = [](const std::vector<std::string>& changes) {
    const Scenario scenario = with(changes);
    return checkpoint_size(lower(scenario)).value();
  };
  EXPECT_DOUBLE_EQ(size({"strategy.parameters_in_16_bit=true"}) / size({}), 6.0 / 12);
}

std::string faults(std::vector<std::string> changes, const char* scenario = "workstation-single-gpu.json") {
  try {
    test::shipped(scenario, changes);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Optimizer, WhatCannotBeIsAFault) {
  const std::string half = "strategy.parameters_in_16_bit=true";
  EXPECT_THAT(faults({half, "workload.precision=fp32"}), HasSubstr("found true, but precision is fp32"));
  EXPECT_THAT(faults({half, "strategy.gradients_in_fp32=true"}),
              HasSubstr("found true, but gradients_in_fp32 is true"));
  EXPECT_THAT(faults({half, "strategy.offload_optimizer=true"}), HasSubstr("update parameters in fp32"));
  const std::string copies = faults({half}, "llama3-70b-h100-512.json");
  EXPECT_THAT(copies, HasSubstr("megatron-lm adds gradients up in fp32 and updates fp32 parameters"));
  EXPECT_THAT(copies, HasSubstr("false, with optimizer adam-16bit or adam-8bit"));
  EXPECT_THAT(faults({"strategy.optimizer=lion", "strategy.offload_optimizer=true"}),
              HasSubstr("/strategy/optimizer: found lion, but processors update by adam"));
  EXPECT_THAT(faults({"strategy.optimizer=adamw"}), HasSubstr("did you mean \"adam\""));
}

// Convolutional networks train by SGD, on processors as on devices.
TEST(Optimizer, ProcessorsUpdateByTheUsualOne) {
  const auto of = [](const std::string& kind) {
    return faults({"strategy.offload_optimizer=true", "strategy.optimizer=" + kind}, "resnet50-v100-8gpus.json");
  };
  EXPECT_EQ(of("sgd"), "");
  EXPECT_THAT(of("adam"), HasSubstr("found adam, but processors update by sgd"));
}

TEST(Optimizer, IsWrittenForMegatron) {
  const auto arguments = [](const std::string& kind) {
    return megatron_arguments(test::shipped("llama3-70b-h100-512.json", {"strategy.optimizer=" + kind}));
  };
  EXPECT_THAT(arguments("sgd"), Contains("--optimizer sgd"));
  EXPECT_THAT(arguments("adam-16bit"), Contains("--exp-avg-sq-dtype bf16"));
  EXPECT_THAT(beyond_megatron_arguments(test::shipped("llama3-70b-h100-512.json", {"strategy.optimizer=lion"})),
              Contains("optimizer lion"));
}

}  // namespace
}  // namespace stepcast::optimizer_test
