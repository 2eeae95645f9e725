// Training steps on a fabric: folded against every rank by itself, stragglers, slow links and several jobs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/estimate.hpp"
#include "models/parallelism/shared_cluster.hpp"
#include "models/parallelism/synchronization.hpp"
#include "report/shared_jobs.hpp"
#include "sim/build.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/run_shared.hpp"
#include "sim/protocol/child_process.hpp"
#include "sim/step/columns.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/sim/simulated_step.hpp"

namespace stepcast::step_fabric_test {
namespace {

using test::catalog;
using test::simulated_step;

Json cluster(int nodes, Json fabric) {
  return {{"node", "dgx-a100-80gb"}, {"nodes", nodes}, {"fabric", std::move(fabric)}};
}

Json leaves_of(int nodes, double oversubscription, const std::string& placement = "packed") {
  return {{"preset", "fat-tree"},
          {"nodes_per_leaf", nodes},
          {"oversubscription", oversubscription},
          {"placement", placement}};
}

Scenario scenario(const Json& json) { return resolve(json, "test", {}, catalog()); }

double step_of(const Json& json, FlowDetail flows = FlowDetail::folded) {
  return simulated_step(scenario(json), flows);
}

// --- folded against full -----------------------------------------------------------------------------------------

struct Case {
  const char* name;
  int nodes;
  Json fabric, strategy;
};

std::vector<Case> cases() {
  const Json megatron{{"framework", "megatron-lm"}, {"micro_batch", 1}};
  const auto with = [&](const Json& more) {
    Json out = megatron;
    out.update(more);
    return out;
  };
  return {
      {"data parallel", 4, leaves_of(2, 1), with({{"tensor_parallel", 8}})},
      {"tensor, pipeline and data", 8, leaves_of(4, 1), with({{"tensor_parallel", 4}, {"pipeline_parallel", 2}})},
      {"up-links that hold up", 8, leaves_of(2, 4), with({{"tensor_parallel", 8}})},
      {"scattered over narrow leaves", 8, leaves_of(2, 2, "scattered"),
       with({{"tensor_parallel", 8}, {"sharding", "zero-1"}})},
      {"stages on leaves of their own", 8, leaves_of(2, 4), with({{"tensor_parallel", 8}, {"pipeline_parallel", 4}})},
      {"pipeline inside the data ranks", 8, leaves_of(2, 2),
       with({{"tensor_parallel", 8}, {"pipeline_parallel", 2}, {"order", "tp-cp-ep-pp-dp"}})},
      {"stages that share nodes", 2, leaves_of(1, 2), with({{"tensor_parallel", 2}, {"pipeline_parallel", 2}})},
      // Gathers and reductions contend for NICs and up-links.
      {"two collectives that contend",
       8,
       leaves_of(2, 2, "scattered"),
       {{"framework", "pytorch-fsdp"}, {"sharding", "fsdp"}, {"micro_batch", 1}}},
      {"gathers under each forward pass",
       8,
       leaves_of(2, 2),
       {{"framework", "pytorch-fsdp"}, {"sharding", "zero-2"}, {"micro_batch", 1}}},
      {"shards of a pipeline that reduces once",
       4,
       leaves_of(2, 2),
       {{"framework", "pytorch-fsdp"}, {"sharding", "fsdp"}, {"micro_batch", 1}, {"pipeline_parallel", 2}}},
  };
}

TEST(FullFlows, FoldedIsEqualWithinOnePercent) {
  for (const Case& c : cases()) {
    const Json json{{"cluster", cluster(c.nodes, c.fabric)},
                    {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 2 * c.nodes * 8}}},
                    {"strategy", c.strategy}};
    const double folded = step_of(json);
    const double full = step_of(json, FlowDetail::full);
    EXPECT_NEAR(folded / full, 1, 0.01) << c.name << ": folded " << folded << " s, full " << full << " s";
  }
}

// Tokens of experts on four nodes, sent once to each node and forwarded inside it, or by a copy for each expert.
TEST(FullFlows, FoldedIsEqualWhereExpertsMeet) {
  for (const char* dispatch : {"all_to_all", "deepep"}) {
    const Json json{{"cluster", cluster(4, leaves_of(2, 2))},
                    {"workload", {{"model", "qwen3-30b-a3b"}, {"global_batch", 32}}},
                    {"strategy",
                     {{"framework", "megatron-lm"},
                      {"micro_batch", 1},
                      {"expert_parallel", 32},
                      {"expert_dispatch", dispatch},
                      {"recompute", "full"}}}};
    const double folded = step_of(json);
    EXPECT_NEAR(folded / step_of(json, FlowDetail::full), 1, 0.01) << dispatch;
  }
}

// Of four nodes' tokens 7 in 8 change rails. With PXN they do so inside the node; without it over up-links that hold
// one node's traffic, whose load is 7/8 of four nodes: exchanges take 3.5 times as long.
TEST(FullFlows, WithoutPxnExpertsMeetOverTheUplinksOfTheirRails) {
  const auto rails = [](bool pxn) {
    const Json fabric{{"preset", "rail-optimized"}, {"oversubscription", 4}, {"pxn", pxn}};
    return Json{{"cluster", cluster(4, fabric)},
                {"workload", {{"model", "qwen3-30b-a3b"}, {"global_batch", 32}}},
                {"strategy",
                 {{"framework", "megatron-lm"}, {"micro_batch", 1}, {"expert_parallel", 32}, {"recompute", "full"}}}};
  };
  const auto rate = [&](bool pxn) {
    const Scenario s = scenario(rails(pxn));
    const Job job = lower(s);
    return job.interconnect.network_rate(job.groups.expert, MessagePattern::direct);
  };
  EXPECT_NEAR(rate(true) / rate(false), 3.5, 1e-6);
  const double folded = step_of(rails(false));
  EXPECT_NEAR(folded / step_of(rails(false), FlowDetail::full), 1, 0.01);
  EXPECT_GT(folded, 1.5 * step_of(rails(true)));
}

// In three tiers a rail has spines of its own, so that what changes rails passes the cores: 7/8 of 16 nodes over
// up-links that hold the traffic of four.
TEST(FullFlows, WithoutPxnExpertsMeetInTheCoresOfThreeTiers) {
  const auto rate = [](bool pxn) {
    const Json fabric{{"preset", "rail-optimized"}, {"nodes_per_leaf", 1}, {"core_oversubscription", 4}, {"pxn", pxn}};
    const Scenario s = scenario(
        {{"cluster", cluster(16, fabric)},
         {"workload", {{"model", "qwen3-30b-a3b"}, {"global_batch", 128}}},
         {"strategy",
          {{"framework", "megatron-lm"}, {"micro_batch", 1}, {"expert_parallel", 128}, {"recompute", "full"}}}});
    const Job job = lower(s);
    return job.interconnect.network_rate(job.groups.expert, MessagePattern::direct);
  };
  EXPECT_NEAR(rate(true) / rate(false), 3.5, 1e-6);
}

// Its communicator's algorithm is everybody's, so links of one node that are slow can only be waited for.
TEST(FullFlows, ASlowNodeRunsTheAlgorithmOfTheOthers) {
  for (const double speed : {0.7, 0.5, 0.3}) {
    Json json{{"cluster", {{"node", "dgx-h100"}, {"nodes", 4}}},
              {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 64}}},
              {"strategy",
               {{"framework", "megatron-lm"}, {"micro_batch", 1}, {"sharding", "none"}, {"overlap_gradients", false}}}};
    json["cluster"]["conditions"] = Json::array({{{"nodes", {1}}, {"native_speed", speed}}});
    const double folded = step_of(json), full = step_of(json, FlowDetail::full);
    EXPECT_NEAR(folded / full, 1, 0.01) << speed << ": folded " << folded << " s, full " << full << " s";
    const Scenario s = scenario(json);
    const Job job = lower(s);
    const auto of = [](const Job& on) { return sync_units(on, 0).back().reduce; };
    EXPECT_EQ(of(job.in_state(1)).algorithm, of(job).algorithm) << speed;
    EXPECT_EQ(of(job.in_state(1)).protocol, of(job).protocol) << speed;
  }
}

// The ends of a pipeline over two sites add up their embedding's gradients: over the wide network, however the stages
// between them lie.
TEST(FullFlows, TheEndsOfAPipelineMeetOverTheWideNetwork) {
  const Json fabric{{"preset", "fat-tree"}, {"wan", {{"sites", 2}, {"bandwidth_Gbps", 10}, {"latency_ms", 1}}}};
  const Json json{{"cluster", cluster(8, fabric)},
                  {"workload", {{"model", "gpt3-1.3b"}, {"global_batch", 64}, {"seq_len", 2048}}},
                  {"strategy",
                   {{"framework", "megatron-lm-2021"},
                    {"micro_batch", 1},
                    {"pipeline_parallel", 8},
                    {"schedule", "gpipe"},
                    {"sharding", "none"}}}};
  const double folded = step_of(json);
  const Scenario s = scenario(json);
  const Job job = lower(s);
  EXPECT_NEAR(folded / step_of(json, FlowDetail::full), 1, 0.01);
  EXPECT_NEAR(folded / estimate(job).step_time.value(), 1, 0.05);
  const auto tied = tied_embedding_sum(job);
  EXPECT_GT(folded, tied->cost.alone(job.interconnect, tied->pair).value());
}

// Rails of stages that share nodes lie apart in their leaves, not between two sites.
TEST(FullFlows, RailsMeetBetweenSites) {
  const Json fabric{{"preset", "rail-optimized"},
                    {"oversubscription", 2},
                    {"nodes_per_leaf", 1},
                    {"wan", {{"sites", 2}, {"bandwidth_Gbps", 100}, {"latency_ms", 1}}}};
  const Json json{{"cluster", cluster(4, fabric)},
                  {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 64}}},
                  {"strategy",
                   {{"framework", "megatron-lm"},
                    {"micro_batch", 1},
                    {"pipeline_parallel", 2},
                    {"sharding", "none"},
                    {"order", "tp-pp-cp-ep-dp"}}}};
  EXPECT_NEAR(step_of(json) / step_of(json, FlowDetail::full), 1, 0.01);
}

// A message holds the up-links that it leaves by and those that it arrives by at one rate.
TEST(FullFlows, MessagesBetweenLeavesAreOneFlow) {
  Json fabric = leaves_of(2, 8);
  fabric.update({{"nic_bandwidth_Gbps", 10}, {"nics_per_node", 1}});
  const Json json{{"cluster", cluster(8, fabric)},
                  {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 64}}},
                  {"strategy",
                   {{"framework", "megatron-lm"},
                    {"micro_batch", 1},
                    {"tensor_parallel", 2},
                    {"pipeline_parallel", 8},
                    {"sequence_parallel", true}}}};
  EXPECT_NEAR(step_of(json) / step_of(json, FlowDetail::full), 1, 0.01);
}

TEST(FullFlows, MoreRanksThanItsBoundAreRefused) {
  Json json{{"cluster", cluster(128, leaves_of(4, 1))},
            {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 1024}}},
            {"strategy", {{"framework", "megatron-lm"}}},
            {"run", {{"flows", "full"}}}};
  const Scenario s = scenario(json);
  const Job job = lower(s);
  try {
    build_step_graph(job, build_options(s));
    FAIL() << "1,024 ranks were taken";
  } catch (const InputError& error) {
    ASSERT_EQ(error.faults().size(), 1U);
    EXPECT_EQ(error.faults()[0].pointer, "/run/flows");
    EXPECT_NE(error.faults()[0].message.find("512"), std::string::npos);
  }
}

// Hashed flows collide on single links; flow by flow the links of a leaf are one, so nothing would.
TEST(FullFlows, HashedRoutesAreRefused) {
  Json json{{"cluster", cluster(4, leaves_of(1, 1))},
            {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 128}}},
            {"strategy", {{"framework", "megatron-lm"}, {"micro_batch", 1}, {"tensor_parallel", 8}}}};
  json["cluster"]["fabric"]["routing"] = "ecmp";
  const Scenario s = scenario(json);
  const Job job = lower(s);
  EXPECT_NO_THROW((void)columns_of(job, FlowDetail::folded));
  try {
    (void)columns_of(job, FlowDetail::full);
    FAIL() << "hashed routes were joined to one link";
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults()[0].pointer, "/run/flows");
  }
}

// --- stragglers, slow links, other kinds -------------------------------------------------------------------------

Json two_stages() {
  return {{"cluster", cluster(2, leaves_of(2, 1))},
          {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 1}}},
          {"strategy",
           {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"pipeline_parallel", 2}, {"micro_batch", 1}}}};
}

// One micro-batch: the stages work one after another, so a slow second stage adds exactly what its own work grows by,
// and its optimizer.
TEST(Stragglers, OneMicroBatchGrowsByTheSlowStagesShare) {
  Json json = two_stages();
  const Scenario healthy = scenario(json);
  json["cluster"]["conditions"] = Json::array({{{"nodes", {1}}, {"compute_speed", 0.8}}});
  const Scenario slow = scenario(json);
  const Job job = lower(slow);
  const auto work = [](const Job& of) {
    const Chunk& last = of.chunks.back();
    return (last.forward + last.backward_input + last.backward_weight + of.optimizer).value();
  };
  const double expected = simulated_step(healthy) + work(job.in_state(1)) - work(job);
  EXPECT_NEAR(simulated_step(slow) / expected, 1, 1e-6);
  EXPECT_GT(work(job.in_state(1)), work(job) * 1.1);
}

// With one replica in four at 0.8 of the speed and nothing overlapped, every replica waits for the slow one's work.
TEST(Stragglers, TheSlowestReplicaSetsThePace) {
  Json json{{"cluster", cluster(4, leaves_of(4, 1))},
            {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 16}}},
            {"strategy", {{"framework", "megatron-lm-2021"}, {"tensor_parallel", 8}, {"micro_batch", 1}}}};
  const double healthy = step_of(json);
  json["cluster"]["conditions"] = Json::array({{{"nodes", {2}}, {"compute_speed", 0.8}}});
  const Scenario slow = scenario(json);
  const Job job = lower(slow);
  const auto work = [&](const Job& of) {
    const Chunk& chunk = of.chunks.front();
    return (4 * (chunk.forward + chunk.backward_input + chunk.backward_weight) + of.optimizer).value();
  };
  const double expected = healthy + work(job.in_state(1)) - work(job);
  EXPECT_NEAR(simulated_step(slow) / expected, 1, 1e-6);
  EXPECT_NEAR(simulated_step(slow, FlowDetail::full) / expected, 1, 0.01);
  EXPECT_NEAR(estimate(job).step_time.value() / expected, 1, 0.03);
}

/// Busy time of gradient reductions of each pipeline stage's first device, latencies apart.
std::vector<double> reduction_flows(const Scenario& s) {
  const std::string text = run_in_child([&] {
    const Job job = lower(s);
    const StepGraph graph = build_step_graph(job);
    const Timeline timeline = simulate(graph);
    std::vector<double> longest(2, 0);
    std::map<std::pair<std::int32_t, double>, double> end_of;
    for (std::size_t i = 0; i < graph.operations().size(); ++i) {
      const Operation& operation = graph.operations()[i];
      if (operation.dimension != Dimension::data || operation.kind != OperationKind::collective) continue;
      const int stage = operation.device % 2;
      const double flow = (timeline.spans[i].end - timeline.spans[i].start - operation.work).value();
      longest[stage] = std::max(longest[stage], flow);
    }
    return fmt::format("{:.17g} {:.17g}", longest[0], longest[1]);
  });
  std::vector<double> out(2);
  std::sscanf(text.c_str(), "%lf %lf", &out[0], &out[1]);
  return out;
}

// Node 3 holds the second stage of the second replica. With half the network rate, the longest of the second stage's
// reductions takes twice as long, and the first stage's take what they took.
TEST(Stragglers, ASlowLinkHalvesItsGroupsCollectiveAlone) {
  Json json{
      {"cluster", cluster(4, leaves_of(4, 1))},
      {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 2}}},
      {"strategy",
       {{"framework", "megatron-lm-2021"}, {"tensor_parallel", 8}, {"pipeline_parallel", 2}, {"micro_batch", 1}}}};
  const std::vector<double> healthy = reduction_flows(scenario(json));
  json["cluster"]["conditions"] = Json::array({{{"nodes", {3}}, {"network_speed", 0.5}}});
  const std::vector<double> slow = reduction_flows(scenario(json));
  ASSERT_GT(healthy[1], 0);
  EXPECT_NEAR(slow[0] / healthy[0], 1, 1e-6);
  EXPECT_NEAR(slow[1] / healthy[1], 2, 1e-3);
}

TEST(MixedNodes, TheSlowerKindDecides) {
  Json json{{"cluster", cluster(4, leaves_of(4, 1))},
            {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 32}}},
            {"strategy", {{"framework", "megatron-lm"}, {"tensor_parallel", 8}, {"micro_batch", 1}}}};
  const double fast = step_of(json);
  json["cluster"]["other_nodes"] = Json::array({{{"node", "dgx-1-v100-32gb"}, {"nodes", {3}}}});
  json["workload"]["precision"] = "fp16";
  const double mixed = step_of(json);
  json["cluster"].erase("other_nodes");
  json["cluster"]["node"] = "dgx-1-v100-32gb";
  const double slow = step_of(json);
  EXPECT_GT(mixed, 1.5 * fast);
  EXPECT_NEAR(mixed / slow, 1, 0.1);
}

// --- several jobs ------------------------------------------------------------------------------------------------

Json data_parallel_job() {
  return {{"cluster", cluster(4, leaves_of(2, 2))},
          {"workload", {{"model", "llama3.2-1b"}, {"global_batch", 4}}},
          {"strategy", {{"framework", "megatron-lm-2021"}, {"tensor_parallel", 8}, {"micro_batch", 1}}}};
}

SharedOutcome together(const Json& a, const Json& b, const std::string& mixing) {
  const Json document{{"jobs", {a, b}}, {"mixing", mixing}};
  return shared_outcome_from_json(
      Json::parse(run_in_child([&] { return to_json(run_shared(document, "test", catalog())).dump(); })));
}

// Leaves of two nodes whose up-links carry one node's traffic. Interleaved, each leaf has one node of either job, and
// every ring hop leaves the leaf: alone a ring goes at its NICs' rate, two go at half of it. Reductions follow the
// backward pass here, and equal jobs are in phase, so the step grows by the time of the flows once more.
TEST(SeveralJobs, InterleavedRingsHalveEachOther) {
  const Json json = data_parallel_job();
  const SharedOutcome outcome = together(json, json, "interleaved");
  const Scenario s = scenario(json);
  const Job job = lower(s, {0, 2, 8});
  Seconds flows;
  for (const SyncUnit& unit : sync_units(job, 0)) flows += unit.reduce_flow;
  ASSERT_GT(flows, Seconds(0));
  for (const SharedJobOutcome& one : outcome.jobs) {
    EXPECT_NEAR(one.together.value(), (one.alone + flows).value(), 0.01 * flows.value());
    EXPECT_GT(one.slowdown(), 1.01);
  }
}

TEST(SeveralJobs, ApartTheyDoNotMeet) {
  const Json json = data_parallel_job();
  for (const SharedJobOutcome& one : together(json, json, "apart").jobs)
    EXPECT_NEAR(one.together / one.alone, 1, 1e-12);
}

TEST(SeveralJobs, FaultsNameTheJob) {
  Json other = data_parallel_job();
  other["cluster"]["fabric"]["oversubscription"] = 3;
  try {
    run_shared({{"jobs", {data_parallel_job(), other}}}, "test", catalog());
    FAIL() << "two fabrics were taken for one";
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults()[0].pointer, "/jobs/1/cluster/fabric");
  }
}

}  // namespace
}  // namespace stepcast::step_fabric_test
