// Steps on nodes of several kinds: folded, every rank by itself, and in closed form.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/closed_form.hpp"
#include "models/parallelism/job.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/sim/simulated_step.hpp"

namespace stepcast::mixed_nodes_sim_test {
namespace {

using test::catalog;
using test::simulated_step;

constexpr const char *kA100 = "dgx-a100-80gb", *kOneNic = "template-2x-epyc-7763-8xh100-ib200-512gb",
                     *kV100 = "dgx-1-v100-32gb";

struct Case {
  const char* name;
  const char *own, *other;
  std::vector<int> which;
  Json workload, strategy;
};

std::vector<Case> cases() {
  const Json llama{{"model", "llama3.2-1b"}, {"global_batch", 32}, {"precision", "fp16"}};
  const Json resnet{
      {"model", "resnet50"}, {"global_batch", 4096}, {"precision", "fp16"}, {"input", {{"decode_ms", 10}}}};
  const auto megatron = [](Json more) {
    more.update({{"framework", "megatron-lm"}, {"micro_batch", 1}});
    return more;
  };
  return {
      {"replicas", kA100, kOneNic, {3}, llama, megatron({{"tensor_parallel", 8}})},
      {"replicas_of_a_slow_kind", kOneNic, kA100, {1, 2}, llama, megatron({{"tensor_parallel", 8}})},
      {"layers", kA100, kOneNic, {1}, llama, megatron({{"tensor_parallel", 16}})},
      {"layers_of_a_slow_kind", kOneNic, kA100, {1}, llama, megatron({{"tensor_parallel", 16}})},
      {"stages", kA100, kV100, {2, 3}, llama, megatron({{"tensor_parallel", 8}, {"pipeline_parallel", 4}})},
      {"stages_of_a_slow_kind", kV100, kA100, {3}, llama, megatron({{"tensor_parallel", 8}, {"pipeline_parallel", 2}})},
      {"shards", kA100, kV100, {0}, llama, {{"framework", "pytorch-fsdp"}, {"micro_batch", 1}}},
      {"input", kA100, kV100, {1}, resnet, {{"framework", "pytorch-ddp"}}},
      {"input_of_a_slow_kind", kV100, kA100, {0, 1}, resnet, {{"framework", "pytorch-ddp"}}},
  };
}

class MixedSteps : public testing::TestWithParam<Case> {};

TEST_P(MixedSteps, AreTheSameFoldedInFullAndInClosedForm) {
  const Case& c = GetParam();
  const Json json{
      {"cluster",
       {{"node", c.own}, {"nodes", 4}, {"other_nodes", Json::array({{{"node", c.other}, {"nodes", c.which}}})}}},
      {"workload", c.workload},
      {"strategy", c.strategy}};
  const Scenario scenario = resolve(json, "test", {}, catalog());
  const double folded = simulated_step(scenario, FlowDetail::folded);
  EXPECT_NEAR(simulated_step(scenario, FlowDetail::full) / folded, 1, 0.01);
  EXPECT_NEAR(closed_form(lower(scenario)).step_time.value() / folded, 1, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Cases, MixedSteps, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& of) { return of.param.name; });

}  // namespace
}  // namespace stepcast::mixed_nodes_sim_test
