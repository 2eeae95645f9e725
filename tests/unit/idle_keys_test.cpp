// Keys that would say nothing of the scenario are one fault each, not ignored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/convergence/target.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::idle_keys_test {
namespace {

using test::shipped;

constexpr const char *kGpt3 = "gpt3-175b-a100-1024.json", *kLlama = "llama3-70b-h100-512.json",
                     *kFsdp = "systems/pytorch-fsdp.json", *kResnet = "resnet50-v100-8nodes.json";

std::vector<Fault> faults_of(const char* file, const std::vector<std::string>& set) {
  try {
    shipped(file, set);
  } catch (const InputError& error) {
    return error.faults();
  }
  return {};
}

TEST(IdleKeys, AreOneFaultEach) {
  struct Case {
    const char* file;
    std::vector<std::string> set;
    const char *pointer, *words;
  };
  const std::string none = "run.checkpoint.kind=none", reliability = "run.reliability.";
  const std::vector<Case> cases{
      {kLlama, {none, "run.checkpoint.interval_s=600"}, "/run/checkpoint/interval_s", "checkpoints that are not made"},
      {kLlama, {none, "run.checkpoint.size_GB=10"}, "/run/checkpoint/size_GB", "checkpoints that are not made"},
      {kLlama, {none, "run.checkpoint.target=local"}, "/run/checkpoint/target", "checkpoints that are not made"},
      {kFsdp, {"strategy.overlap_gradients=false"}, "/strategy/overlap_gradients", "found false, but fsdp"},
      {kFsdp, {"strategy.overlap_parameter_gather=true"}, "/strategy/overlap_parameter_gather", "found fsdp"},
      {kGpt3, {reliability + "elastic=true"}, "/run/reliability/elastic", "another node is always to be had"},
      {kGpt3, {reliability + "repair_h=48"}, "/run/reliability/repair_h", "another node is always to be had"},
      {kGpt3, {reliability + "slow_node_speed=0.5"}, "/run/reliability/slow_node_speed", "no node turns slow"},
      {kGpt3, {reliability + "slow_node_found_h=2"}, "/run/reliability/slow_node_found_h", "no node turns slow"},
      {kGpt3, {reliability + "link_flap_s=5"}, "/run/reliability/link_flap_s", "no link flaps"},
      {kResnet, {"workload.input.connections=8"}, "/workload/input/connections", "no object store"},
      {kGpt3, {"workload.stated_at_batch=768"}, "/workload/stated_at_batch", "suffices at any batch"},
  };
  for (const Case& c : cases) {
    const std::vector<Fault> faults = faults_of(c.file, c.set);
    ASSERT_EQ(faults.size(), 1U) << c.pointer;
    EXPECT_EQ(faults[0].pointer, c.pointer);
    EXPECT_THAT(faults[0].message, testing::HasSubstr(c.words));
    EXPECT_NE(faults[0].suggestion, "");
  }
}

TEST(IdleKeys, OfAModelAreFaultsToo) {
  EXPECT_THAT(test::faults_of("llama3-8b", [](Model& m) { m.transformer->window_kind = WindowKind::chunked; }),
              testing::StartsWith("/transformer/window: missing"));
  EXPECT_THAT(test::faults_of("llama3-8b", [](Model& m) { m.transformer->ssm_groups = 8; }),
              testing::StartsWith("/transformer/layer_pattern: missing"));
  EXPECT_THAT(test::faults_of("llama3-8b", [](Model& m) { m.transformer->ssm_conv = 3; }),
              testing::StartsWith("/transformer/layer_pattern: missing"));
}

TEST(IdleKeys, AreNoneWhereTheySaySomething) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases{
      {kFsdp, {"strategy.overlap_gradients=true", "strategy.overlap_parameter_gather=false"}},
      {kGpt3, {"run.reliability.spares=2", "run.reliability.elastic=true", "run.reliability.repair_h=48"}},
      {kGpt3, {"run.reliability.slow_nodes_per_1000_node_days=1", "run.reliability.slow_node_speed=0.5"}},
      {kResnet, {"cluster.storage=s3-standard", "workload.input.connections=8"}},
      {kGpt3, {"workload.stated_at_batch=768", "workload.critical_batch=1600"}},
  };
  for (const auto& [file, set] : cases) EXPECT_EQ(faults_of(file, set).size(), 0U) << set.front();
}

// The stated work is that of the scenario's own batch where no other is named, so it counts for phases of others.
TEST(CriticalBatch, CountsFromTheScenariosOwnBatch) {
  const Scenario scenario = shipped(kGpt3, {"workload.critical_batch=1536", "workload.global_batch=1536"});
  EXPECT_DOUBLE_EQ(work_factor(scenario), 1);
  EXPECT_DOUBLE_EQ(work_factor(scenario, 3072), 1.5);
  EXPECT_DOUBLE_EQ(work_factor(shipped(kGpt3, {}), 3072), 1);
}

}  // namespace
}  // namespace stepcast::idle_keys_test
