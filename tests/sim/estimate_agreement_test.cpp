// The closed form and the simulation share every cost function; this holds their results together.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <sstream>

#include "models/estimate.hpp"
#include "report/predict.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::estimate_agreement_test {
namespace {

using test::catalog;
using test::shipped;

/// Draws scenarios from what people run: mostly legal ones; what is not legal is drawn again.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  Json scenario() {
    const std::string model = one_of({"gpt3-13b", "gpt3-22b", "llama2-7b", "llama3-8b", "llama3-70b", "mixtral-8x7b",
                                      "bert-large", "gpt2-xl", "resnet50"});
    const std::string node = one_of({"dgx-a100-80gb", "dgx-h100", "dgx-1-v100-32gb", "aws-p4d.24xlarge"});
    const int nodes = number({1, 2, 4, 8, 16, 32});
    Json strategy{{"framework", "pytorch-ddp"}, {"micro_batch", number({1, 2, 4})}};
    if (model != "resnet50" && model != "bert-large" && model != "gpt2-xl") large_model(strategy, model);
    return {{"format_version", 1},
            {"cluster", {{"node", node}, {"nodes", nodes}, {"fabric", {{"oversubscription", number({1, 1, 1, 2})}}}}},
            {"workload", {{"model", model}, {"global_batch", nodes * number({8, 16, 64, 256})}, {"precision", "fp16"}}},
            {"strategy", std::move(strategy)}};
  }

  /// Experts whose all_to_alls run beside other micro-batches' computation.
  Json merged_scenario() {
    const int pipeline = number({1, 2, 4});
    const int nodes = number({1, 2, 4, 8});
    Json strategy{{"framework", "megatron-lm"},
                  {"micro_batch", number({1, 2})},
                  {"tensor_parallel", number({1, 2})},
                  {"pipeline_parallel", pipeline},
                  {"expert_parallel", number({2, 4, 8})},
                  {"overlap_expert_parallel", true},
                  {"recompute", one_of({"none", "selective"})}};
    strategy["sequence_parallel"] = strategy["tensor_parallel"] != 1;
    if (number({0, 1}) == 1) strategy["expert_tensor_parallel"] = 1;
    strategy["schedule"] = pipeline == 1 ? "1f1b" : "interleaved-1f1b";
    if (strategy["schedule"] == "interleaved-1f1b") strategy["virtual_pipeline"] = number({2, 4});
    return {{"format_version", 1},
            {"cluster", {{"node", one_of({"dgx-a100-80gb", "dgx-h100"})}, {"nodes", nodes}}},
            {"workload",
             {{"model", one_of({"mixtral-8x7b", "qwen3-30b-a3b"})},
              {"global_batch", nodes * number({16, 64, 256})},
              {"precision", "bf16"}}},
            {"strategy", std::move(strategy)}};
  }

  /// Experts to whose nodes tokens are sent once.
  Json dispatched_scenario() {
    Json out = merged_scenario();
    out["strategy"]["expert_dispatch"] = "deepep";
    if (number({0, 1}) == 1) out["strategy"].erase("overlap_expert_parallel");
    return out;
  }

  /// Parameters that are gathered and gradients that are reduced in every stage of a pipeline.
  Json sharded_pipeline() {
    const std::string schedule = one_of({"1f1b", "gpipe", "zero-bubble", "interleaved-1f1b"});
    const int nodes = number({1, 2, 4, 8});
    Json strategy{{"framework", one_of({"pytorch-fsdp", "megatron-lm"})},
                  {"sharding", one_of({"fsdp", "hsdp", "zero-2"})},
                  {"micro_batch", number({1, 2})},
                  {"tensor_parallel", number({1, 2})},
                  {"pipeline_parallel", number({2, 4, 8})},
                  {"schedule", schedule},
                  {"recompute", one_of({"none", "full"})}};
    if (schedule == "interleaved-1f1b") strategy["virtual_pipeline"] = number({2, 4});
    return {{"format_version", 1},
            {"cluster", {{"node", one_of({"dgx-a100-80gb", "dgx-h100", "dgx-1-v100-32gb"})}, {"nodes", nodes}}},
            {"workload",
             {{"model", one_of({"llama3-8b", "llama2-7b", "gpt3-13b", "mixtral-8x7b"})},
              {"global_batch", nodes * number({16, 64, 256})},
              {"precision", "fp16"}}},
            {"strategy", std::move(strategy)}};
  }

 private:
  void large_model(Json& strategy, const std::string& model) {
    strategy["framework"] = one_of({"megatron-lm", "megatron-lm-2021", "pytorch-fsdp", "deepspeed"});
    if (strategy["framework"] == "pytorch-fsdp") {
      strategy["sharding"] = one_of({"fsdp", "hsdp", "zero-2"});
    } else if (strategy["framework"] == "deepspeed") {
      strategy["sharding"] = one_of({"zero-1", "zero-2", "zero-3"});
    } else {
      strategy["tensor_parallel"] = number({1, 2, 4, 8});
      strategy["pipeline_parallel"] = number({1, 2, 4, 8});
      const std::string schedule = one_of({"1f1b", "gpipe", "zero-bubble", "interleaved-1f1b"});
      strategy["schedule"] = schedule;
      if (schedule == "interleaved-1f1b") strategy["virtual_pipeline"] = number({2, 4});
      strategy["sequence_parallel"] = strategy["tensor_parallel"] != 1 && number({0, 1}) == 1;
      if (strategy["framework"] == "megatron-lm") {
        strategy["context_parallel"] = number({1, 1, 1, 2});
        if (model == "mixtral-8x7b") strategy["expert_parallel"] = number({1, 4, 8});
        if (model == "mixtral-8x7b" && strategy["sequence_parallel"] == true && number({0, 1}) == 1)
          strategy["expert_tensor_parallel"] = 1;
      }
    }
    strategy["recompute"] = one_of({"none", "selective", "full"});
  }

  int number(std::vector<int> of) { return of[random_() % of.size()]; }
  std::string one_of(std::vector<std::string> of) { return of[random_() % of.size()]; }

  std::mt19937 random_;
};

double simulated_step(const Job& job) {
  return std::stod(run_in_child([&] {
    const StepGraph graph = build_step_graph(job);
    return fmt::format("{:.17g}", simulate(graph).end.value());
  }));
}

/// Mean error of so many drawn scenarios; none is further off than its stated limit.
double mean_error(int scenarios, const std::function<Json()>& draw) {
  double sum = 0;
  int compared = 0;
  for (int drawn = 0; compared < scenarios && drawn < 40 * scenarios; ++drawn) {
    const Json document = draw();
    std::optional<Scenario> scenario;
    try {
      scenario = resolve(document, "drawn", {}, catalog());
    } catch (const InputError&) {
      continue;
    }
    const Job job = lower(*scenario);
    const StepBreakdown closed = estimate(job);
    const double analytic = closed.step_time.value();
    for (const auto& of_kind : closed.communication)
      for (const StepBreakdown::Communication& share : of_kind) EXPECT_GE(share.exposed.value(), 0) << document.dump();
    const double simulated = simulated_step(job);
    const double error = std::abs(analytic / simulated - 1);
    EXPECT_LT(error, closed_form_deviation(*scenario))
        << document.dump() << "\nanalytic " << analytic << " s, simulated " << simulated << " s";
    sum += error;
    ++compared;
  }
  EXPECT_EQ(compared, scenarios);
  return sum / compared;
}

// Over the drawn scenarios: 3 % on average, and no single one further off than 5 %, or the stated limit.
TEST(ClosedForm, AgreesWithTheSimulation) {
  Draw draw(2026);
  const double error = mean_error(250, [&] { return draw.scenario(); });
  EXPECT_LT(error, 0.03);
  RecordProperty("mean_error_percent", fmt::format("{:.3f}", 100 * error));
}

TEST(ClosedForm, AgreesWithTheSimulationOfMergedPasses) {
  Draw draw(2027);
  const double error = mean_error(50, [&] { return draw.merged_scenario(); });
  EXPECT_LT(error, 0.03);
  RecordProperty("mean_error_percent", fmt::format("{:.3f}", 100 * error));
}

TEST(ClosedForm, AgreesWithTheSimulationOfDispatchedExperts) {
  Draw draw(2029);
  const double error = mean_error(25, [&] { return draw.dispatched_scenario(); });
  EXPECT_LT(error, 0.03);
  RecordProperty("mean_error_percent", fmt::format("{:.3f}", 100 * error));
}

// A stage's own sends are work of its clock as they are of the pipeline's: none is taken off twice.
TEST(ClosedForm, AgreesWithTheSimulationOfShardedStages) {
  Draw draw(2028);
  const double error = mean_error(100, [&] { return draw.sharded_pipeline(); });
  EXPECT_LT(error, 0.03);
  RecordProperty("mean_error_percent", fmt::format("{:.3f}", 100 * error));
}

/// How far the closed form is from the simulation, as a share of it.
double error_of(const Scenario& scenario) {
  const Job job = lower(scenario);
  return estimate(job).step_time.value() / simulated_step(job) - 1;
}

double error_of(const Json& document) { return error_of(resolve(document, "case", {}, catalog())); }

Json on_one_nic(int nodes, double gigabits, Json strategy) {
  return {{"cluster",
           {{"node", "dgx-a100-80gb"},
            {"nodes", nodes},
            {"fabric", {{"nic_bandwidth_Gbps", gigabits}, {"nics_per_node", 1}}}}},
          {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}, {"seq_len", 2048}}},
          {"strategy", std::move(strategy)}};
}

// Messages run beside the computation, and the network carries no more of them than it can.
TEST(ClosedForm, MessagesThatFillTheNetworkSetThePace) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved-1f1b"}) {
    Json strategy{{"framework", "megatron-lm"}, {"micro_batch", 1},          {"pipeline_parallel", 4},
                  {"tensor_parallel", 8},       {"sequence_parallel", true}, {"schedule", schedule}};
    if (schedule == std::string("interleaved-1f1b")) strategy["virtual_pipeline"] = 2;
    // docs/models/estimate.md states the limit of schedules that interleave.
    const double tolerated = strategy.contains("virtual_pipeline") ? 0.10 : 0.05;
    EXPECT_NEAR(error_of(on_one_nic(4, 10, strategy)), 0, tolerated) << schedule;
  }
}

// Forward passes of a heavy stage in front run while the first micro-batch is on its way.
TEST(ClosedForm, PlaysUnequalStages) {
  for (const char* schedule : {"1f1b", "zero-bubble"})
    for (const int micro_batches : {4, 8, 64})
      for (const std::vector<int>& layers :
           std::vector<std::vector<int>>{{12, 4, 4, 4}, {9, 5, 5, 5}, {5, 5, 5, 9}, {4, 12, 4, 4}, {1, 9, 5, 9}})
        EXPECT_NEAR(error_of({{"cluster", {{"node", "dgx-a100-80gb"}, {"nodes", 1}}},
                              {"workload", {{"model", "bert-large"}, {"global_batch", 2 * 4 * micro_batches}}},
                              {"strategy",
                               {{"framework", "megatron-lm"},
                                {"micro_batch", 4},
                                {"pipeline_parallel", 4},
                                {"recompute", "full"},
                                {"schedule", schedule},
                                {"stage_layers", layers}}}}),
                    0, 0.02)
            << schedule << ' ' << micro_batches << ' ' << Json(layers).dump();
}

// Where gathers take longer than the work, nothing that flows while the device waits slows it down, latencies of
// gathers and reductions pass side by side, and a light stage waits for its gathers while it waits for a heavy one.
TEST(ClosedForm, WaitsForGathersOnce) {
  const auto document = [](const char* node, int nodes, const char* model, int batch, Json strategy) {
    strategy["sharding"] = "fsdp";
    return Json{{"cluster", {{"node", node}, {"nodes", nodes}}},
                {"workload", {{"model", model}, {"global_batch", batch}, {"precision", "bf16"}}},
                {"strategy", std::move(strategy)}};
  };
  EXPECT_NEAR(error_of(document("azure-nd96isr-mi300x-v5", 16, "bert-large", 2048,
                                {{"framework", "pytorch-fsdp"}, {"micro_batch", 2}})),
              0, 0.05);
  for (const char* schedule : {"1f1b", "gpipe", "zero-bubble"})
    EXPECT_NEAR(error_of(document(
                    "dgx-b200", 8, "gpt3-1.3b", 512,
                    {{"framework", "meta-4d"}, {"pipeline_parallel", 4}, {"schedule", schedule}, {"micro_batch", 1}})),
                0, 0.05)
        << schedule;
}

// Operators that a collective beside them slows down compute: in closed form as on the timeline, in energy, too.
TEST(ClosedForm, BooksWhatIsSlowedDownAsComputation) {
  const auto document = [](const char* node, const char* model, Json strategy) {
    return Json{{"cluster", {{"node", node}, {"nodes", 8}}},
                {"workload", {{"model", model}, {"global_batch", 2048}}},
                {"strategy", std::move(strategy)}};
  };
  // On K80 the kernels of a collective leave a tenth of the device.
  for (const Json& json : {document("aws-p2.16xlarge", "vgg16", {{"framework", "pytorch-ddp"}}),
                           document("dgx-h100", "llama3-8b", {{"framework", "pytorch-fsdp"}, {"micro_batch", 1}})}) {
    const Scenario scenario = resolve(json, "slowed", {}, catalog());
    const Job job = lower(scenario);
    const StepBreakdown closed = estimate(job);
    std::istringstream simulated(run_in_child([&] {
      const StepGraph graph = build_step_graph(job);
      const StepBreakdown played = breakdown_of(job, graph, simulate(graph));
      return fmt::format("{:.17g} {:.17g} {:.17g}", played.compute.value(), played.communication_exposed().value(),
                         played.average_device_power.value());
    }));
    double compute = 0, exposed = 0, power = 0;
    simulated >> compute >> exposed >> power;
    // Of a slow-down to a tenth the recurrence over units is some per cent long.
    EXPECT_NEAR(closed.compute.value() / compute, 1, 0.08) << json.dump();
    EXPECT_NEAR((closed.communication_exposed().value() - exposed) / closed.step_time.value(), 0, 0.02) << json.dump();
    EXPECT_NEAR(closed.average_device_power.value() / power, 1, 0.02) << json.dump();
  }
}

// Eight stages on each node reduce over its one NIC.
TEST(ClosedForm, StagesOfANodeShareItsNic) {
  for (const char* sharding : {"none", "zero-1"})
    EXPECT_NEAR(error_of(on_one_nic(4, 100,
                                    {{"framework", "megatron-lm"},
                                     {"micro_batch", 1},
                                     {"pipeline_parallel", 8},
                                     {"sharding", sharding},
                                     {"order", "tp-pp-cp-ep-dp"}})),
                0, 0.05)
        << sharding;
}

// The same of FSDP's, whose gathers fill the NIC while it is slow: stages that wait for others' work do not gather.
TEST(ClosedForm, ShardedStagesOfANodeShareItsNic) {
  for (const double gigabits : {25.0, 100.0, 400.0})
    EXPECT_LT(std::abs(error_of(on_one_nic(4, gigabits,
                                           {{"framework", "pytorch-fsdp"},
                                            {"micro_batch", 1},
                                            {"pipeline_parallel", 8},
                                            {"sharding", "fsdp"},
                                            {"order", "tp-pp-cp-ep-dp"}}))),
              0.15)
        << gigabits;
}

// FSDP over one slow NIC: what every micro-batch gathers and reduces sets the pace on one stage; a pipeline reduces
// once, and gathers in half of its passes or once.
TEST(ClosedForm, WrappedLayersMeetOnASlowNetwork) {
  for (const char* sharding : {"fsdp", "zero-2"})
    for (const double gigabits : {25.0, 100.0, 400.0}) {
      Json strategy{{"framework", "pytorch-fsdp"}, {"micro_batch", 1}, {"sharding", sharding}};
      EXPECT_LT(std::abs(error_of(on_one_nic(2, gigabits, strategy))), 0.10) << sharding << ' ' << gigabits;
      strategy["overlap_gradients"] = false;
      if (strategy["sharding"] == "zero-2") {
        EXPECT_LT(std::abs(error_of(on_one_nic(2, gigabits, strategy))), 0.10) << "one after another " << gigabits;
      }
      strategy.erase("overlap_gradients");
      for (const char* schedule : {"1f1b", "gpipe", "zero-bubble", "interleaved-1f1b"}) {
        strategy.update({{"pipeline_parallel", 4}, {"schedule", schedule}});
        if (schedule == std::string("interleaved-1f1b")) strategy["virtual_pipeline"] = 2;
        EXPECT_LT(std::abs(error_of(on_one_nic(2, gigabits, strategy))), 0.25)
            << sharding << ' ' << gigabits << ' ' << schedule;
      }
    }
}

// A network without blocks is one unit: it is gathered, computed and reduced one after another, where one micro-batch
// is a step; of several the reduction runs beside the gathers of the next.
TEST(ClosedForm, OneShardedUnitOverlapsWithTheNextMicroBatchAlone) {
  for (const char* model : {"resnet50", "vit-l16"})
    for (const int micro_batch : {1, 8})
      for (const char* node : {"aws-p3.16xlarge", "server-4xl40s"})
        EXPECT_NEAR(error_of({{"format_version", 1},
                              {"cluster", {{"node", node}, {"nodes", 4}}},
                              {"workload", {{"model", model}, {"global_batch", 256}}},
                              {"strategy", {{"framework", "pytorch-fsdp"}, {"micro_batch", micro_batch}}}}),
                    0, 0.05)
            << model << ' ' << micro_batch << ' ' << node;
}

TEST(ClosedForm, StagesOfALeafShareItsUplinks) {
  for (const char* fabric : {"fat-tree", "rail-optimized"})
    for (const int pipeline : {2, 4}) {
      const Scenario scenario = shipped(
          "llama3-70b-h100-512.json",
          {"cluster.nodes=8", "workload.global_batch=128", "cluster.fabric.nodes_per_leaf=4",
           "cluster.fabric.placement=scattered", "cluster.fabric.oversubscription=4",
           "cluster.fabric.nic_bandwidth_Gbps=10", "strategy.schedule=1f1b", "strategy.virtual_pipeline=1",
           fmt::format("cluster.fabric.preset={}", fabric), fmt::format("strategy.pipeline_parallel={}", pipeline)});
      EXPECT_LT(std::abs(error_of(scenario)), 0.05) << fabric << ' ' << pipeline;
    }
}

// Horovod's processes agree once in a cycle on what is ready on all of them: nodes of any speed reduce the same units.
TEST(ClosedForm, SlowNodesReduceTheUnitsOfTheOthers) {
  for (const char* slow : {R"({"nodes":[7],"compute_speed":0.1})", R"({"nodes":[0,6],"compute_speed":0.5})",
                           R"({"nodes":[2],"network_speed":0.1,"compute_speed":0.9})"}) {
    const Scenario scenario = shipped("systems/databricks.json", {fmt::format("cluster.conditions=[{}]", slow)});
    EXPECT_LT(std::abs(error_of(scenario)), 0.02) << slow;
  }
}

// The parameters of a later chunk are gathered while a micro-batch passes the other stages.
TEST(ClosedForm, GathersHideBehindTheOtherStagesPasses) {
  const Scenario scenario = shipped(
      "llama3-70b-h100-512.json",
      {"cluster.nodes=32", "workload.global_batch=128", "strategy.tensor_parallel=2", "cluster.fabric.preset=dragonfly",
       "cluster.fabric.nodes_per_leaf=8", "cluster.fabric.placement=scattered", "cluster.fabric.oversubscription=2"});
  EXPECT_LT(std::abs(error_of(scenario)), 0.10);
}

// Tokens on their way to experts of other nodes share the NICs with gradients and with updated parameters.
TEST(ClosedForm, DispatchMeetsReductionsOnTheNics) {
  for (const int nodes : {8, 16})
    for (const int batch : {128, 512}) {
      const Scenario scenario =
          shipped("qwen3-next-h100-128.json",
                  {fmt::format("cluster.nodes={}", nodes), fmt::format("workload.global_batch={}", batch),
                   "strategy.expert_parallel=16", "strategy.pipeline_parallel=1", "strategy.tensor_parallel=1"});
      EXPECT_LT(std::abs(error_of(scenario)), 0.05) << nodes << ' ' << batch;
    }
}

// Fewer micro-batches than stages leave little to fill the drain with.
TEST(ClosedForm, ZeroBubblesOfFewMicroBatchesAreNotFilled) {
  for (const int batch : {16, 32, 64, 128})
    EXPECT_NEAR(error_of({{"cluster", {{"node", "aws-p6-b300.48xlarge"}, {"nodes", 16}}},
                          {"workload", {{"model", "gpt-145.6b"}, {"global_batch", batch}}},
                          {"strategy",
                           {{"framework", "megatron-lm-2021"},
                            {"tensor_parallel", 2},
                            {"sequence_parallel", true},
                            {"pipeline_parallel", 16},
                            {"schedule", "zero-bubble"},
                            {"micro_batch", 2}}}}),
                0, 0.05)
        << batch;
}

}  // namespace
}  // namespace stepcast::estimate_agreement_test
