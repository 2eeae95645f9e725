#include "models/parallelism/offload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/parallelism/job.hpp"
#include "models/storage/rates.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::offload_test {
namespace {

const std::string kOffloaded = "strategy.offload_optimizer=true", kOnDrives = "strategy.offload_optimizer_device=nvme",
                  kSharded = "strategy.sharding=zero-3";
constexpr const char* kScenario = "llama3-70b-h100-512.json";

std::vector<std::string> with_deepspeed(std::vector<std::string> changes) {
  changes.insert(changes.begin(),
                 {"strategy.framework=deepspeed", "strategy.tensor_parallel=1", "strategy.sequence_parallel=false",
                  "strategy.pipeline_parallel=1", "strategy.virtual_pipeline=1"});
  return changes;
}

TEST(OptimizerOnDrives, NeedsZero3AndDrivesWhoseRatesAreKnown) {
  const auto refusal = [](const std::vector<std::string>& changes) {
    return test::refusal_of(kScenario, with_deepspeed(changes));
  };
  EXPECT_EQ(refusal({kOffloaded, kOnDrives, kSharded}), "none");
  EXPECT_THAT(refusal({kOnDrives, kSharded}), testing::HasSubstr("found nvme, but offload_optimizer is false"));
  EXPECT_THAT(refusal({kOffloaded, kOnDrives, "strategy.sharding=zero-2"}),
              testing::HasSubstr("found nvme, which needs sharding zero-3, found zero-2"));
  EXPECT_THAT(refusal({kOffloaded, kOnDrives, kSharded, "cluster.node=alps-gh200-4"}),
              testing::HasSubstr("found nvme, but the catalogue has no rates of alps-gh200-4's drives"));
}

// Parameters, gradients and two moments are read in fp32, and all but the gradients written, by eight devices at once.
TEST(OptimizerOnDrives, StreamsItsStatesThroughThem) {
  const Scenario host = test::shipped(kScenario, with_deepspeed({kOffloaded, kSharded})),
                 drives = test::shipped(kScenario, with_deepspeed({kOffloaded, kOnDrives, kSharded}));
  const Seconds streamed = Bytes(8 * 16e9) / *local_read_rate(drives) + Bytes(8 * 12e9) / *local_write_rate(drives);
  const Seconds longer = offloaded_optimizer_time(1e9, lower(drives)) - offloaded_optimizer_time(1e9, lower(host));
  EXPECT_NEAR(longer / streamed, 1, 1e-9);
  EXPECT_GT(streamed, Seconds(3));
}

// 406 G parameters of 16 bytes on eight drives of 1 TB, half of which hold what the others do.
TEST(OptimizerOnDrives, IsToldWhereTheyAreTooSmall) {
  const auto told = [](const char* raid) {
    const Scenario s = test::shipped(
        kScenario, with_deepspeed({kOffloaded, kOnDrives, kSharded, "cluster.nodes=1", "workload.global_batch=64",
                                   "cluster.node=aws-p4d.24xlarge", "workload.model=llama3-405b", raid}));
    return states_beyond_drives(lower(s)).value_or("none");
  };
  EXPECT_EQ(told("cluster.local_raid=0"), "none");
  EXPECT_EQ(told("cluster.local_raid=10"), "the optimizer's states take 6.49 TB of a node's drives, which hold 4 TB");
}

}  // namespace
}  // namespace stepcast::offload_test
