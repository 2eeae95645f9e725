#include "models/estimate.hpp"

#include <gtest/gtest.h>

#include "models/parallelism/job.hpp"
#include "models/power/average_power.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::estimate_test {
namespace {

using test::catalog;

StepBreakdown estimate_of(const Json& document) {
  const Scenario scenario = resolve(document, "test", {}, catalog());
  return estimate(lower(scenario));
}

Seconds busy(const StepBreakdown& step, CollectiveKind kind, Dimension dimension) {
  return step.communication[static_cast<std::size_t>(kind)][static_cast<std::size_t>(dimension)].total;
}

// FSDP's SHARD_GRAD_OP reduces the gradients of every micro-batch, one after another: over 800 Gb/s to four nodes that
// takes far longer than the computation they run beside.
TEST(ClosedForm, ReductionsOfEveryMicroBatchTakeTheirTime) {
  const StepBreakdown step = estimate_of(
      {{"cluster", {{"node", "gcp-a3-highgpu-8g"}, {"nodes", 4}}},
       {"workload", {{"model", "gpt-39.1b"}, {"global_batch", 384}, {"seq_len", 512}}},
       {"strategy",
        {{"framework", "pytorch-fsdp"}, {"sharding", "zero-2"}, {"micro_batch", 1}, {"recompute", "full"}}}});
  const Seconds reductions = busy(step, CollectiveKind::reduce_scatter, Dimension::data);
  EXPECT_GT(reductions, 3 * step.compute);
  EXPECT_GE(step.step_time, reductions);
  EXPECT_LT(step.step_time, step.communication_total() + step.compute) << "they run beside the backward pass";
}

// SHARD_GRAD_OP gathers and reduces layer by layer, as FULL_SHARD does, and does not gather for the backward pass: it
// is no slower, and hides most of what it sends.
TEST(ClosedForm, ShardedGradientsOfWrappedLayersHide) {
  const auto step = [](const char* sharding) {
    return estimate_of(
        {{"cluster", {{"node", "dgx-h100"}, {"nodes", 2}}},
         {"workload", {{"model", "llama2-7b"}, {"global_batch", 16}, {"seq_len", 4096}}},
         {"strategy",
          {{"framework", "pytorch-fsdp"}, {"sharding", sharding}, {"micro_batch", 1}, {"recompute", "full"}}}});
  };
  const StepBreakdown gradients = step("zero-2"), all = step("fsdp");
  EXPECT_LE(gradients.step_time, all.step_time * 1.001);
  EXPECT_LT(gradients.communication_total(), all.communication_total() * 0.75);
  EXPECT_LT(gradients.communication_exposed(), gradients.communication_total() * 0.25);
}

// PyTorch's optimizer of shared states leaves DDP's all-reduce as it is, and each rank broadcasts what it has updated.
TEST(ClosedForm, SharedStatesBesideDistributedDataParallelAddABroadcast) {
  const auto step = [](const char* sharding) {
    return estimate_of({{"cluster", {{"node", "dgx-a100-80gb"}, {"nodes", 4}}},
                        {"workload", {{"model", "bert-large"}, {"global_batch", 512}, {"precision", "fp16"}}},
                        {"strategy", {{"framework", "pytorch-ddp"}, {"sharding", sharding}, {"micro_batch", 16}}}});
  };
  const StepBreakdown shared = step("zero-1"), whole = step("none");
  EXPECT_NEAR(busy(shared, CollectiveKind::all_reduce, Dimension::data) /
                  busy(whole, CollectiveKind::all_reduce, Dimension::data),
              1, 1e-9);
  EXPECT_GT(busy(shared, CollectiveKind::broadcast, Dimension::data), Seconds(0));
  EXPECT_GT(shared.step_time, whole.step_time);
}

// DeepSpeed's stages 1 and 2 sum whole buckets on every rank, and each keeps its own part: half as much again as
// gradients that are scattered.
TEST(ClosedForm, DeepSpeedSumsShardedGradientsOnEveryRank) {
  const auto step = [](const char* framework, const char* sharding) {
    return estimate_of({{"cluster", {{"node", "dgx-a100-80gb"}, {"nodes", 4}}},
                        {"workload", {{"model", "gpt3-6.7b"}, {"global_batch", 64}, {"precision", "bf16"}}},
                        {"strategy", {{"framework", framework}, {"sharding", sharding}, {"micro_batch", 1}}}});
  };
  const Seconds whole = busy(step("deepspeed", "none"), CollectiveKind::all_reduce, Dimension::data);
  const auto expect_all_reduces = [&](const char* framework, const char* sharding, double times) {
    const StepBreakdown sharded = step(framework, sharding);
    EXPECT_NEAR(busy(sharded, CollectiveKind::all_reduce, Dimension::data) / whole, times, 1e-9) << framework;
    EXPECT_EQ(busy(sharded, CollectiveKind::reduce_scatter, Dimension::data), Seconds(0)) << framework;
    EXPECT_GT(busy(sharded, CollectiveKind::all_gather, Dimension::data), Seconds(0)) << framework;
  };
  expect_all_reduces("deepspeed", "zero-1", 1);
  expect_all_reduces("deepspeed", "zero-2", 2);  // in both micro-batches
  expect_all_reduces("megatron-deepspeed", "zero-1", 1);
}

Json offloading(const char* what) {
  return {{"cluster", {{"node", "dgx-h100"}, {"nodes", 1}}},
          {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}, {"precision", "bf16"}}},
          {"strategy", {{"framework", "deepspeed"}, {"sharding", "zero-3"}, {"micro_batch", 1}, {what, true}}}};
}

// Activations on their way over the host links keep the device waiting, which is no computation.
TEST(ClosedForm, WaitsForOffloadedActivationsAreTheHosts) {
  Json without = offloading("offload_activations");
  without["strategy"].erase("offload_activations");
  const StepBreakdown kept = estimate_of(without);
  const StepBreakdown offloaded = estimate_of(offloading("offload_activations"));
  EXPECT_NEAR(offloaded.compute / kept.compute, 1, 1e-9);
  EXPECT_GT(offloaded.host, kept.host + (offloaded.step_time - kept.step_time) * 0.5);
  EXPECT_GE(offloaded.overhead, offloaded.host);
}

// While processors update, the devices draw what they do with nothing to run.
TEST(ClosedForm, DevicesRestWhileHostsUpdate) {
  const Scenario s = resolve(offloading("offload_optimizer"), "test", {}, catalog());
  const StepBreakdown step = estimate(lower(s));
  const PowerModel power = power_model(s);
  PowerModel devices_update = power;
  devices_update.device_updating = power.device_memory;
  const Watts busier = average_device_power(step, devices_update);
  const Watts rests = (power.device_memory - power.device_ready) * (step.optimizer / step.step_time);
  EXPECT_GT(rests, Watts(10));
  EXPECT_NEAR((busier - step.average_device_power).value(), rests.value(), 1e-6);
}

// The first of BLOOM's twelve stages holds the embedding besides its layers and gathers longest. The others wait for
// it, which is no traffic of theirs: of each collective no more is exposed than there is, and the parts make up the
// step.
TEST(ClosedForm, StagesWaitForTheOneThatGathersLongest) {
  const Scenario scenario = test::shipped("bloom-176b-a100-384.json");
  const StepBreakdown step = estimate(lower(scenario));
  for (const auto& by_dimension : step.communication)
    for (const StepBreakdown::Communication& share : by_dimension)
      EXPECT_LE(share.exposed.value(), share.total.value() * (1 + 1e-9));
  EXPECT_NEAR((step.compute + step.communication_exposed() + step.bubble + step.synchronization_wait + step.optimizer +
               step.overhead) /
                  step.step_time,
              1, 1e-9);
}

}  // namespace
}  // namespace stepcast::estimate_test
