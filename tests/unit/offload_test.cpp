#include "models/parallelism/offload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/compute/host_link.hpp"
#include "models/parallelism/job.hpp"
#include "models/parallelism/parameter_update.hpp"
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

/// Waits for the host link of all layers' backward passes.
Seconds waited(const std::vector<std::string>& changes) {
  const Scenario scenario = test::shipped(kScenario, with_deepspeed(changes));
  const Job job = lower(scenario);
  Seconds sum;
  for (const Chunk& chunk : job.chunks)
    for (const int kind : chunk.layer_kinds)
      for (const Piece& piece : job.layer_kinds[static_cast<std::size_t>(kind)].backward_input.pieces)
        if (piece.wait == Wait::offload) sum += piece.duration;
  return sum;
}

// One node's devices own an eighth of 70 G parameters each. Of four micro-batches three read the sum of 2 bytes a
// parameter back and write it again, so a backward pass has 1.5 times 17.6 GB beside it, more than its few tokens hide;
// one micro-batch has nothing to add to, and gradients on the device (zero-1) cross nothing.
TEST(GradientsOnHost, CrossTheLinkInEveryMicroBatch) {
  const auto changes = [](const char* sharding, int batch) {
    return std::vector<std::string>{kOffloaded,
                                    fmt::format("strategy.sharding={}", sharding),
                                    "cluster.nodes=1",
                                    fmt::format("workload.global_batch={}", 8 * batch),
                                    "workload.seq_len=128",
                                    "strategy.micro_batch=1",
                                    "strategy.recompute=none"};
  };
  const Scenario scenario = test::shipped(kScenario, with_deepspeed(changes("zero-3", 4)));
  const Job job = lower(scenario);
  const double owned = owned_parameters(job, 0).all;
  const Seconds crossing = Bytes(2 * 0.75 * 2 * owned) / host_link_rate(scenario);
  const Seconds waits = waited(changes("zero-3", 4));
  EXPECT_LT(waits, crossing);
  EXPECT_GT(waits, 0.3 * crossing);
  EXPECT_EQ(waited(changes("zero-3", 1)), Seconds(0));
  EXPECT_EQ(waited(changes("zero-1", 4)), Seconds(0));
  // FSDP's are summed by processors.
  const auto fsdp = [&](int batch) {
    std::vector<std::string> all = changes("fsdp", batch);
    all.emplace_back("strategy.framework=pytorch-fsdp");
    return waited(all);
  };
  EXPECT_GT(fsdp(4), Seconds(0));
  EXPECT_EQ(fsdp(1), Seconds(0));
}

}  // namespace
}  // namespace stepcast::offload_test
