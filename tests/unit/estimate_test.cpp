#include "models/estimate.hpp"

#include <gtest/gtest.h>

#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"

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

}  // namespace
}  // namespace stepcast::estimate_test
