#include "models/updates/update_step.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/storage/input_pipeline.hpp"
#include "models/updates/lone_node.hpp"
#include "models/updates/server_job.hpp"
#include "models/updates/worker_noise.hpp"
#include "models/updates/worker_step.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::update_step_test {
namespace {

using namespace literals;
using test::shipped;

struct Forecast {
  StepBreakdown own;  ///< a worker's step by itself
  UpdateStep step;
};

Forecast forecast(const char* name, const std::vector<std::string>& changes = {}) {
  const Scenario scenario = shipped(name, changes);
  const Scenario alone = lone_node(scenario);
  const Job job = lower(scenario), lone = lower(alone);
  const StepBreakdown own = estimate(lone);
  return {own, update_step(job, lone, own)};
}

double worker_parameters(const char* name) {
  const Scenario scenario = shipped(name);
  const Scenario alone = lone_node(scenario);
  const Job job = lower(scenario), lone = lower(alone);
  return worker_step(job, lone, estimate(lone)).parameters;
}

Seconds sum_of(const StepBreakdown& b) {
  return b.compute + b.communication_exposed() + b.bubble + b.synchronization_wait + b.optimizer + b.overhead;
}

// Eight of 16 workers' gradients are dropped, so a worker computes twice for each that counts; nobody waits longer for
// the network than where one in 16 is dropped.
TEST(BackupWorkers, WhatIsDroppedIsComputedForNothing) {
  const Forecast few = forecast("systems/parameter-server-backup.json", {"strategy.step_spread=0.02"});
  const Forecast half =
      forecast("systems/parameter-server-backup.json", {"strategy.step_spread=0.02", "strategy.backup_workers=8"});
  ASSERT_NEAR(half.step.outcome.dropped_share, 0.5, 0.02);
  EXPECT_NEAR(half.step.breakdown.compute / half.own.compute, 2, 0.1);
  EXPECT_LT(half.step.breakdown.communication_exposed(), 3 * few.step.breakdown.communication_exposed());
  EXPECT_NEAR(sum_of(half.step.breakdown) / half.step.breakdown.step_time, 1, 1e-9);
}

// Input of terabytes is nearly all of a step, and the mean of the draws is not exactly one: what they lack is no
// computation's alone.
TEST(Workers, NoPartOfAStepIsLessThanNothing) {
  for (const char* name : {"systems/elephas.json", "systems/elephas-hogwild.json", "systems/gossip-pairs.json"}) {
    const StepBreakdown step = forecast(name, {"workload.input.sample_kB=1e9"}).step.breakdown;
    EXPECT_GT(step.compute, Seconds(0)) << name;
    EXPECT_NEAR(sum_of(step) / step.step_time, 1, 1e-9) << name;
  }
}

// SMDDP's servers sum; every device runs its optimizer on what comes back.
TEST(WorkersThatUpdate, RunTheirOptimizer) {
  const Forecast smddp = forecast("systems/sagemaker.json");
  EXPECT_EQ(smddp.step.breakdown.optimizer, smddp.own.optimizer);
  EXPECT_GT(smddp.own.optimizer, Seconds(0));
  EXPECT_NEAR(sum_of(smddp.step.breakdown) / smddp.step.breakdown.step_time, 1, 1e-9);
  // Of MXNet's, the servers do.
  EXPECT_EQ(forecast("systems/mxnet-dist-sync.json").step.breakdown.optimizer, Seconds(0));
}

// Signs of gradients go up, whole parameters come down.
TEST(AsynchronousServers, SendParametersWhole) {
  const std::vector<std::string> signs{"strategy.compression.method=1-bit"};
  const UpdateOutcome plain = forecast("systems/mxnet-dist-async.json").step.outcome;
  const UpdateOutcome packed = forecast("systems/mxnet-dist-async.json", signs).step.outcome;
  EXPECT_NEAR(packed.sent_per_worker / plain.sent_per_worker, 1.0 / 32, 1e-9);
  EXPECT_NEAR(packed.received_per_worker / plain.received_per_worker, 1, 1e-9);
}

// Half of the bytes; casting takes a little of the device's time.
TEST(Gossip, CastsWhatItSendsInSixteenBit) {
  const Forecast plain = forecast("systems/gossip-ring.json"),
                 cast = forecast("systems/gossip-ring.json", {"strategy.compression.method=fp16"});
  EXPECT_NEAR(cast.step.outcome.sent_per_worker / plain.step.outcome.sent_per_worker, 0.5, 1e-9);
  EXPECT_GT(cast.step.breakdown.compute, plain.step.breakdown.compute);
}

// One model a step goes to one peer, so neither bytes nor time grow with the cluster: half of a ring's two.
TEST(Gossip, OnAnExponentialGraphSendsToOnePeerAStep) {
  const auto outcome = [](const char* graph, int nodes) {
    return forecast("systems/gossip-ring.json",
                    {fmt::format("strategy.gossip_graph={}", graph), fmt::format("cluster.nodes={}", nodes),
                     fmt::format("workload.global_batch={}", 512 * nodes)})
        .step.outcome;
  };
  const UpdateOutcome few = outcome("exponential", 4), many = outcome("exponential", 32), ring = outcome("ring", 32);
  EXPECT_EQ(few.sent_per_worker, many.sent_per_worker);
  EXPECT_NEAR(many.exchange / few.exchange, 1, 0.01);
  EXPECT_NEAR(ring.sent_per_worker / many.sent_per_worker, 2, 1e-9);
}

// Eight devices of a node hold one model: what nodes choose of it is gathered once a node.
TEST(LocalSteps, GatherWhatEachWorkerChose) {
  const char* diloco = "systems/local-sgd-diloco.json";
  const std::vector<std::string> chosen{"strategy.compression.method=top-k", "strategy.compression.ratio=0.01",
                                        "strategy.local_steps=10"};
  const UpdateStep step = forecast(diloco, chosen).step;
  const int nodes = shipped(diloco).spec.cluster.nodes;
  const double parameters = worker_parameters(diloco);
  EXPECT_NEAR(step.outcome.sent_per_worker.value(), parameters * 8 * 0.01 * (nodes - 1) / 10, 1e-6 * parameters);
}

// Sharded workers cut the outer optimizer's last model and momentum as they cut parameters, and update a share each;
// with the inner optimizer's states they go to the host.
TEST(LocalSteps, OuterStatesAreCutAsParametersAre) {
  const char* diloco = "systems/local-sgd-diloco.json";
  const std::vector<std::string> sharded{"strategy.framework=pytorch-fsdp", "strategy.sharding=hsdp"};
  const auto states = [&](std::vector<std::string> changes, const char* update) {
    changes.insert(changes.begin(), sharded.begin(), sharded.end());
    changes.push_back(std::string("strategy.update=") + update);
    if (update == std::string("synchronous")) changes.emplace_back("strategy.local_steps=1");
    const Scenario scenario = shipped(diloco, changes);
    return memory_of(lower(scenario)).stages.front();
  };
  const double outer = 8 * worker_parameters(diloco) / 8;
  EXPECT_NEAR((states({}, "local").optimizer - states({}, "synchronous").optimizer).value() / outer, 1, 1e-9);
  const std::vector<std::string> offloaded{"strategy.offload_optimizer=true"};
  EXPECT_EQ(states(offloaded, "local").optimizer, Bytes(0));
  EXPECT_NEAR((states(offloaded, "local").host - states(offloaded, "synchronous").host).value() / outer, 1, 1e-9);
}

// The average read, 4; the last model and the momentum read and written, 16; the worker's written: 4 in fp32, which
// automatic mixed precision keeps alone, 2 in 16 bit alone.
TEST(LocalSteps, TheOuterUpdateByHand) {
  const char* diloco = "systems/local-sgd-diloco.json";
  EXPECT_EQ(outer_update_bytes(shipped(diloco)), 4 + 16 + 4);
  EXPECT_EQ(outer_update_bytes(shipped(diloco, {"strategy.parameters_in_16_bit=true"})), 4 + 16 + 2);
}

TEST(LocalSteps, TheOuterUpdateIsNotTheInnerOnes) {
  const auto of = [](const char* optimizer) {
    return forecast("systems/local-sgd-diloco.json", {"strategy.optimizer=" + std::string(optimizer)}).step;
  };
  EXPECT_LT(of("lion").breakdown.optimizer, of("adam").breakdown.optimizer);
  EXPECT_EQ(of("lion").outcome.exchange, of("adam").outcome.exchange);
}

/// Bytes a second that the busiest server of a scenario applies.
double applied(const char* name, const std::vector<std::string>& changes) {
  const Scenario scenario = shipped(name, changes);
  const Scenario alone = lone_node(scenario);
  const Job job = lower(scenario), lone = lower(alone);
  return server_job(job, worker_step(job, lone, estimate(lone))).server_update.value();
}

// Adam moves 4 + 8 + 16 bytes a parameter, SGD with momentum 4 + 8 + 8. Synchronous servers apply a sum once.
TEST(Servers, UpdateByTheStrategysOptimizer) {
  const char* apart = "systems/parameter-server-ssp.json";
  const char* together = "systems/tensorflow-ps-sync.json";
  EXPECT_EQ(applied(apart, {"strategy.optimizer=sgd"}), applied(apart, {}));
  EXPECT_DOUBLE_EQ(applied(apart, {}) / applied(apart, {"strategy.optimizer=adam"}), 28.0 / 20);
  const double workers = workers_of(shipped(together));
  EXPECT_DOUBLE_EQ(applied(together, {}) / applied(together, {"strategy.optimizer=adam"}), 1 + 0.4 / workers);
  // Whose workers update.
  const char* summing = "systems/sagemaker.json";
  EXPECT_EQ(applied(summing, {"strategy.optimizer=adam"}), applied(summing, {}));
}

/// Every node a leaf of its own, behind a sixteenth of what its NICs send.
const std::vector<std::string> kNarrow{"cluster.fabric.preset=fat-tree", "cluster.fabric.nodes_per_leaf=1",
                                       "cluster.fabric.oversubscription=16"};

class Fabric : public testing::TestWithParam<const char*> {};
TEST_P(Fabric, HoldsUpWhatWorkersExchange) {
  const Forecast full = forecast(GetParam()), narrow = forecast(GetParam(), kNarrow);
  // Between whose beginning and end a worker may compute.
  EXPECT_GT(narrow.step.outcome.exchange, 3 * full.step.outcome.exchange);
  // Latency of another site is on the way of every message.
  const Forecast apart =
      forecast(GetParam(), {R"(cluster.fabric.wan={"sites":2,"bandwidth_Gbps":1e5,"latency_ms":500})"});
  EXPECT_GT(apart.step.outcome.exchange, full.step.outcome.exchange + 0.5_s);
}
INSTANTIATE_TEST_SUITE_P(Updates, Fabric,
                         testing::Values("systems/gossip-ring.json", "systems/gossip-pairs.json",
                                         "systems/parameter-server-backup.json", "systems/parameter-server-ssp.json"),
                         [](const auto& of) { return std::to_string(of.index); });

// Shared storage serves all workers' reads, however they exchange gradients.
class SharedStorage : public testing::TestWithParam<const char*> {};
TEST_P(SharedStorage, FeedsAllWorkersTogether) {
  const std::vector<std::string> slow{"cluster.storage=nfs-10gbe", "workload.input.sample_kB=1000",
                                      "workload.input.page_cache=false"};
  const Scenario scenario = shipped(GetParam(), slow);
  const InputPipeline pipeline = input_pipeline(scenario);
  const double read = pipeline.slowest()->samples_per_s;
  const StepBreakdown step = forecast(GetParam(), slow).step.breakdown;
  EXPECT_GT(step.step_time, 0.97 * Seconds(static_cast<double>(scenario.spec.workload.global_batch) / read));
  const auto& reading = step.communication[static_cast<std::size_t>(CollectiveKind::send_recv)]
                                          [static_cast<std::size_t>(Dimension::storage)];
  EXPECT_GT(reading.exposed, 0.5 * step.step_time);
}
INSTANTIATE_TEST_SUITE_P(Updates, SharedStorage,
                         testing::Values("systems/gossip-ring.json", "systems/gossip-pairs.json",
                                         "systems/mxnet-dist-async.json", "systems/parameter-server-ssp.json",
                                         "systems/local-sgd-diloco.json"),
                         [](const auto& of) { return std::to_string(of.index); });

// Servers stay at the 10 Gb/s of their own NICs, whatever the workers have.
TEST(ParameterServers, FasterNicsOfWorkersAreNoSlower) {
  const auto time = [](const char* gigabits) {
    return forecast("systems/tensorflow-ps-sync.json",
                    {"strategy.step_spread=0", std::string("cluster.fabric.nic_bandwidth_Gbps=") + gigabits})
        .step.breakdown.step_time.in(1_ms);
  };
  const double at_25 = time("25");
  for (const char* faster : {"50", "100", "400", "10000"}) EXPECT_LE(time(faster), at_25 * (1 + 1e-9)) << faster;
}

ServerJob servers_of(const char* name, const std::vector<std::string>& changes) {
  const Scenario scenario = shipped(name, changes);
  const Scenario alone = lone_node(scenario);
  const Job job = lower(scenario), lone = lower(alone);
  return server_job(job, worker_step(job, lone, estimate(lone)));
}

// gRPC serialises for a server of the same node as for one of another, so how long a worker's and the busiest server's
// process take over a worker's bytes does not depend on how many of them stay on the node.
TEST(ServersOfANode, AreSentToByTheSameProcesses) {
  const auto times = [](int nodes) {
    const ServerJob job = servers_of(
        "systems/tensorflow-ps-async.json",
        {"strategy.worker=device", "cluster.fabric.nic_bandwidth_Gbps=10000", fmt::format("cluster.nodes={}", nodes)});
    const Bytes sent = job.step.push() * job.network_share;
    return std::pair(sent / job.ports.worker, sent * job.ports.process_share / job.ports.server_process);
  };
  const auto [worker, server] = times(1);
  for (const int nodes : {2, 8}) {
    EXPECT_NEAR(times(nodes).first / worker, 1, 1e-9) << nodes;
    EXPECT_NEAR(times(nodes).second / server, 1, 1e-9) << nodes;
  }
}

// Whole variables go to servers in turn, so 8·k servers of 8 nodes hold what 8 do, node by node: its ports and its
// memory carry the same bytes, however many processes share them.
TEST(ServersOfANode, CarryTheSumOfTheirShares) {
  const auto job_of = [](int count) {
    return servers_of("systems/tensorflow-ps-async.json", {fmt::format("strategy.parameter_servers.count={}", count)});
  };
  const ServerJob one = job_of(8);
  EXPECT_LT(one.ports.server_share, 1);
  for (const int on_a_node : {2, 4, 16}) {
    const ServerJob more = job_of(8 * on_a_node);
    EXPECT_NEAR(more.ports.server_share / one.ports.server_share, 1, 1e-9) << on_a_node;
    EXPECT_NEAR((more.update_share / more.server_update) / (one.update_share / one.server_update), 1, 1e-9);
    EXPECT_LE(more.ports.process_share, one.ports.process_share) << on_a_node;
  }
}

}  // namespace
}  // namespace stepcast::update_step_test
