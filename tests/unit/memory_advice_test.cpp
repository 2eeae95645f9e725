#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/memory/advice.hpp"
#include "models/memory/memory.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::memory_advice_test {
namespace {

using test::catalog;

Json document(const char* text) { return Json::parse(text); }

MemoryReport report_of(const Json& document, const std::vector<std::string>& overrides = {}) {
  const Scenario scenario = resolve(document, "test", overrides, catalog());
  return memory_of(lower(scenario));
}

/// `strategy.a = "x", strategy.b = 2: 40 of 80 GiB` as overrides.
std::vector<std::string> overrides_of(std::string advice) {
  std::vector<std::string> overrides;
  advice = advice.substr(0, advice.find(": "));
  for (std::size_t start = 0; start < advice.size();) {
    const std::size_t end = std::min(advice.find(", ", start), advice.size());
    std::string one = advice.substr(start, end - start);
    one.erase(std::remove(one.begin(), one.end(), ' '), one.end());
    overrides.push_back(one);
    start = end + 2;
  }
  return overrides;
}

TEST(Advice, HoldsWhenItIsFollowed) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 8},
    "workload": {"model": "llama3-70b", "global_batch": 256},
    "strategy": {"framework": "megatron-lm", "tensor_parallel": 4, "pipeline_parallel": 2, "micro_batch": 2}})");
  ASSERT_FALSE(report_of(scenario).fits);
  const auto advice = memory_advice(resolve(scenario, "test", {}, catalog()), catalog());
  ASSERT_FALSE(advice.empty());
  for (const std::string& one : advice) EXPECT_TRUE(report_of(scenario, overrides_of(one)).fits) << one;
}

// Neither more sharding nor recomputation is enough on 16 GB; host memory is.
TEST(Advice, OffersHostMemoryWhereNothingElseIsEnough) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-1-v100-16gb", "nodes": 1},
    "workload": {"model": "llama3-8b", "global_batch": 8, "seq_len": 1024},
    "strategy": {"framework": "deepspeed", "sharding": "zero-3", "micro_batch": 1}})");
  const auto advice = memory_advice(resolve(scenario, "test", {}, catalog()), catalog());
  ASSERT_FALSE(advice.empty());
  EXPECT_THAT(advice, testing::Contains(testing::HasSubstr("offload_optimizer")));
  for (const std::string& one : advice) EXPECT_TRUE(report_of(scenario, overrides_of(one)).fits) << one;
}

// Nothing is shared out on one device: 8 billion parameters with fp32 copies are too much, in 16 bit alone they fit.
TEST(Advice, OffersNarrowerStatesWhereNothingElseIsEnough) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-h100-1-of-8", "nodes": 1},
    "workload": {"model": "llama3-8b", "global_batch": 16, "seq_len": 4096},
    "strategy": {"framework": "pytorch-ddp", "micro_batch": 1, "recompute": "full"}})");
  const auto advice = memory_advice(resolve(scenario, "test", {}, catalog()), catalog());
  EXPECT_THAT(advice, testing::Contains(testing::StartsWith("strategy.parameters_in_16_bit = true: ")));
  for (const std::string& one : advice) EXPECT_TRUE(report_of(scenario, overrides_of(one)).fits) << one;
}

// Two of forty layers recompute: advice keeps to that, or says how many more do.
TEST(Advice, KeepsToTheLayersThatRecompute) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 8},
    "workload": {"model": "llama3-70b", "global_batch": 256},
    "strategy": {"framework": "megatron-lm", "tensor_parallel": 8, "pipeline_parallel": 2, "sharding": "zero-1",
                 "micro_batch": 2, "recompute": "full", "recompute_layers": 2}})");
  ASSERT_FALSE(report_of(scenario).fits);
  const auto advice = memory_advice(resolve(scenario, "test", {}, catalog()), catalog());
  EXPECT_THAT(advice, testing::Contains(testing::StartsWith("strategy.recompute_layers = ")));
  for (const std::string& one : advice) EXPECT_TRUE(report_of(scenario, overrides_of(one)).fits) << one;
}

TEST(Advice, SaysNothingWhereNothingHelps) {
  const Json scenario = document(R"({"format_version": 1, "cluster": {"node": "dgx-a100-80gb", "nodes": 1},
    "workload": {"model": "gpt3-175b", "global_batch": 8}, "strategy": {"framework": "pytorch-ddp"}})");
  EXPECT_TRUE(memory_advice(resolve(scenario, "test", {}, catalog()), catalog()).empty());
}

}  // namespace
}  // namespace stepcast::memory_advice_test
