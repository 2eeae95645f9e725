// Waits for replicas that are slower: the same kind in the simulation, folded and in full, as in the closed form.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "models/closed_form.hpp"
#include "report/predict.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::slow_replicas_test {
namespace {

using test::catalog;

struct Waits {
  double bubble, synchronization;  ///< shares of the step
};

Waits waits_of(const StepBreakdown& step) {
  return {step.bubble / step.step_time, step.synchronization_wait / step.step_time};
}

Waits simulated(const Scenario& scenario) {
  std::istringstream text(run_in_child([&] {
    const Job job = lower(scenario);
    const StepGraph graph = build_step_graph(job, build_options(scenario));
    const Waits waits = waits_of(breakdown_of(job, graph, simulate(graph)));
    return fmt::format("{:.17g} {:.17g}", waits.bubble, waits.synchronization);
  }));
  Waits out{};
  text >> out.bubble >> out.synchronization;
  return out;
}

struct Case {
  const char* name;
  Json cluster, strategy;
};

std::vector<Case> cases() {
  const Json straggler{{"conditions", Json::array({{{"nodes", {3}}, {"compute_speed", 0.5}}})}};
  const Json unlike{{"other_nodes", Json::array({{{"node", "dgx-1-v100-32gb"}, {"nodes", {3}}}})}};
  const auto megatron = [](int pipeline) {
    return Json{
        {"framework", "megatron-lm"}, {"micro_batch", 1}, {"tensor_parallel", 8}, {"pipeline_parallel", pipeline}};
  };
  Json sharded = megatron(2);
  sharded["sharding"] = "zero-1";
  return {
      {"pipelines", straggler, megatron(2)},
      {"pipelines_of_another_kind", unlike, megatron(2)},
      {"pipelines_with_sharded_states", straggler, sharded},
      {"no_pipeline", straggler, megatron(1)},
      {"sharded_parameters", straggler, {{"framework", "pytorch-fsdp"}, {"micro_batch", 1}}},
  };
}

class SlowReplicas : public testing::TestWithParam<Case> {};

TEST_P(SlowReplicas, AreWaitedForUnderTheSameName) {
  const Case& c = GetParam();
  Json cluster{{"node", "dgx-a100-80gb"}, {"nodes", 8}};
  cluster.update(c.cluster);
  Json json{{"cluster", std::move(cluster)},
            {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 128}, {"precision", "fp16"}}},
            {"strategy", c.strategy}};
  const Scenario scenario = resolve(json, "test", {}, catalog());
  const Waits closed = waits_of(closed_form(lower(scenario)));
  EXPECT_GT(closed.synchronization, 0.05);
  for (const char* flows : {"folded", "full"}) {
    json["run"]["flows"] = flows;
    const Waits waits = simulated(resolve(json, "test", {}, catalog()));
    EXPECT_NEAR(waits.bubble, closed.bubble, 0.03) << flows;
    EXPECT_NEAR(waits.synchronization, closed.synchronization, 0.03) << flows;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SlowReplicas, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& of) { return of.param.name; });

}  // namespace
}  // namespace stepcast::slow_replicas_test
