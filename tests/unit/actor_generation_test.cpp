#include <gtest/gtest.h>

#include "models/parallelism/lowering.hpp"
#include "models/updates/actor_step.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::actor_generation_test {
namespace {

using test::shipped;

/// Time of one generated token of a model on one copy of `devices` H100 with one sequence under way.
Seconds token_time(const std::string& model, int devices = 1) {
  const Scenario scenario =
      shipped("systems/rl-actors-learners.json",
              {"workload.model=" + model, "workload.seq_len=1024", "strategy.actors.concurrent=1",
               "strategy.actors.prompt_tokens=0", fmt::format("strategy.actors.tensor_parallel={}", devices)});
  return actor_job(lower(scenario), Seconds(1)).sample.front().time / 1024.0;
}

// Qwen3-30B-A3B reads the 8 experts of 128 that a token chooses, 3.3 billion parameters in all; the dense model
// has 4.0.
TEST(Generation, OfExpertsIsThatOfTheirActiveParameters) {
  const Seconds experts = token_time("qwen3-30b-a3b"), dense = token_time("qwen3-4b");
  EXPECT_LE(experts, 2 * dense);
  EXPECT_GE(experts, 3.3 / 4.0 * dense);
}

// The host waits for no expert's rows, on however many devices.
TEST(Generation, OfExpertsIsNotSlowerByTheHostOnMoreDevices) {
  EXPECT_LE(token_time("qwen3-30b-a3b", 2), token_time("qwen3-30b-a3b"));
}

}  // namespace
}  // namespace stepcast::actor_generation_test
