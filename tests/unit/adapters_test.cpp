#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/memory/memory.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/job.hpp"
#include "tests/unit/shipped.hpp"

// Low-rank adapters in scenarios: what they stand beside, and frozen weights that are held packed.
namespace stepcast::adapters_test {
namespace {

using testing::HasSubstr;

constexpr const char* kPipelined = "llama3-70b-h100-512.json";

/// What a stage in the middle of a pipeline holds of parameters.
Bytes parameters_of_blocks(const std::vector<std::string>& workload) {
  const Scenario scenario = test::shipped(kPipelined, workload);
  return memory_of(lower(scenario)).stages.at(1).parameters;
}

// Dettmers et al. 2023: 4.127 bits a weight.
TEST(PackedWeights, TakeFourBitsAndTheirScales) {
  WorkloadSpec workload;
  EXPECT_EQ(packed_weight_bytes(workload), 0);
  workload.frozen_weights = PackedWeights::nf4;
  EXPECT_NEAR(packed_weight_bytes(workload) * 8, 4.127, 0.001);
  workload.frozen_weights = PackedWeights::int8;
  EXPECT_EQ(packed_weight_bytes(workload), 1);
}

TEST(PackedWeights, HoldBlocksInLess) {
  const Bytes whole = parameters_of_blocks({"workload.adapter_rank=16"});
  const Bytes packed = parameters_of_blocks({"workload.adapter_rank=16", "workload.frozen_weights=nf4"});
  EXPECT_NEAR(packed / whole, 4.127 / 16, 0.003);
  EXPECT_NEAR(parameters_of_blocks({"workload.adapter_rank=16", "workload.frozen_weights=int8"}) / whole, 0.5, 0.003);
}

TEST(PackedWeights, TakeTimeToUnpack) {
  const Scenario whole = test::shipped(kPipelined, {"workload.adapter_rank=16"});
  const Scenario packed = test::shipped(kPipelined, {"workload.adapter_rank=16", "workload.frozen_weights=nf4"});
  const Job a = lower(whole), b = lower(packed);
  EXPECT_GT(b.chunks.at(1).forward, a.chunks.at(1).forward);
  EXPECT_GT(b.chunks.at(1).backward_input, a.chunks.at(1).backward_input);
}

TEST(AdapterSettings, AreRefusedWithoutAdapters) {
  EXPECT_THAT(test::refusal_of(kPipelined, {"workload.adapter_targets=all-linear"}),
              HasSubstr("/workload/adapter_targets: is for adapters, and everything is trained without adapter_rank"));
  EXPECT_THAT(test::refusal_of(kPipelined, {"workload.frozen_weights=nf4"}),
              HasSubstr("/workload/frozen_weights: is for adapters"));
  EXPECT_THAT(test::refusal_of(kPipelined,
                               {"workload.adapter_rank=16", "workload.frozen_weights=nf4", "workload.precision=fp8"}),
              HasSubstr("/workload/frozen_weights: found nf4, but weights are unpacked into 16 bit"));
}

TEST(AdapterSettings, MoreTargetsTrainMore) {
  double last = 0;
  for (const char* targets : {"qkv", "attention", "all-linear"}) {
    const Scenario scenario =
        test::shipped(kPipelined, {"workload.adapter_rank=16", fmt::format("workload.adapter_targets={}", targets)});
    const double trained = lower(scenario).stage_parameters.at(1);
    EXPECT_GT(trained, last) << targets;
    last = trained;
  }
}

}  // namespace
}  // namespace stepcast::adapters_test
