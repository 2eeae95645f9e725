// How often a step gathers parameters and reduces gradients.
#include "models/parallelism/synchronization.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/build.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::synchronization_test {
namespace {

using test::catalog;

/// Llama 2 7B on two nodes of eight devices: sixteen micro-batches where four stages share them, two where none do.
Scenario two_nodes(const Json& strategy) {
  Json full{{"micro_batch", 1}};
  full.update(strategy);
  return resolve({{"format_version", 1},
                  {"cluster", {{"node", "dgx-h100"}, {"nodes", 2}}},
                  {"workload",
                   {{"model", "llama2-7b"},
                    {"global_batch", strategy.contains("pipeline_parallel") ? 64 : 32},
                    {"seq_len", 4096},
                    {"precision", "bf16"}}},
                  {"strategy", std::move(full)}},
                 "test", {}, catalog());
}

/// Collectives of the first stage over its replicas, in units.
struct PerUnit {
  double gathers, reductions;
};

PerUnit per_unit(const Json& strategy) {
  const Scenario scenario = two_nodes(strategy);
  const Job job = lower(scenario);
  const StepGraph graph = build_step_graph(job, build_options(scenario));
  const auto& operations = graph.operations();
  const auto of_kind = [&](CollectiveKind kind) {
    return static_cast<double>(std::count_if(operations.begin(), operations.end(), [&](const Operation& one) {
      const bool collective = one.kind == OperationKind::collective || one.kind == OperationKind::gather;
      return collective && one.device == 0 && one.dimension == Dimension::data && one.collective == kind;
    }));
  };
  const auto units = static_cast<double>(sync_units(job, 0).size());
  return {of_kind(CollectiveKind::all_gather) / units, of_kind(CollectiveKind::reduce_scatter) / units};
}

// PyTorch's pipelines reduce after the last of a stage's micro-batches. Parameters that a backward pass has gathered
// stay whole until the next forward pass of their chunk: of 16 micro-batches' 32 passes 17 gather. Those that stay
// whole from the forward pass on are gathered once.
TEST(Synchronization, PipelinesOfPyTorchReduceOnceAStep) {
  const Json pipeline{{"framework", "pytorch-fsdp"}, {"pipeline_parallel", 4}};
  for (const Json& order : {Json{{"schedule", "1f1b"}}, Json{{"schedule", "gpipe"}}, Json{{"schedule", "zero-bubble"}},
                            Json{{"schedule", "interleaved-1f1b"}, {"virtual_pipeline", 2}}})
    for (const char* sharding : {"fsdp", "hsdp", "zero-2"}) {
      Json strategy = pipeline;
      strategy.update(order);
      strategy["sharding"] = sharding;
      const PerUnit counted = per_unit(strategy);
      EXPECT_EQ(counted.reductions, 1) << strategy.dump();
      EXPECT_EQ(counted.gathers, sharding == std::string("zero-2") ? 1 : 17) << strategy.dump();
    }
}

TEST(Synchronization, OtherPipelinesReduceWhatTheyDoNotKeep) {
  const PerUnit sharded =
      per_unit({{"framework", "meta-4d"}, {"sharding", "fsdp"}, {"pipeline_parallel", 4}, {"schedule", "1f1b"}});
  EXPECT_EQ(sharded.gathers, 32);
  EXPECT_EQ(sharded.reductions, 16);
  Json strategy{{"framework", "meta-4d"}, {"sharding", "zero-2"}, {"pipeline_parallel", 4}, {"schedule", "1f1b"}};
  EXPECT_EQ(per_unit(strategy).gathers, 1);
  EXPECT_EQ(per_unit(strategy).reductions, 16);
  strategy.update({{"schedule", "interleaved-1f1b"}, {"virtual_pipeline", 2}});
  EXPECT_EQ(per_unit(strategy).reductions, 4);
}

// FSDP gives parameters up after the backward pass, whatever it shards; those of DeepSpeed's stage 2 are always whole.
TEST(Synchronization, WrappedLayersAreGatheredInEveryMicroBatch) {
  for (const char* framework : {"pytorch-fsdp", "llm-foundry", "meta-4d"}) {
    const PerUnit gradients = per_unit({{"framework", framework}, {"sharding", "zero-2"}});
    EXPECT_EQ(gradients.gathers, 2) << framework;
    EXPECT_EQ(gradients.reductions, 2) << framework;
    const PerUnit all = per_unit({{"framework", framework}, {"sharding", "fsdp"}});
    EXPECT_EQ(all.gathers, 4) << framework;
    EXPECT_EQ(all.reductions, 2) << framework;
  }
  EXPECT_EQ(per_unit({{"framework", "megatron-lm"}, {"sharding", "zero-2"}}).gathers, 1);
}

}  // namespace
}  // namespace stepcast::synchronization_test
