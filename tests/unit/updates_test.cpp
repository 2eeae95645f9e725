#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "models/parallelism/compression.hpp"
#include "models/parallelism/tensors.hpp"
#include "models/updates/federated_run.hpp"
#include "models/updates/gossip_run.hpp"
#include "models/updates/local_run.hpp"
#include "models/updates/random_draw.hpp"
#include "models/updates/server_run.hpp"
#include "models/updates/server_shards.hpp"
#include "models/updates/update_history.hpp"

namespace stepcast::updates_test {
namespace {

using namespace literals;

/// Workers of 30 ms forward, 70 ms backward, gradients of 100 MB in four buckets, one server beside each on 10 Gb/s.
ServerJob colocated(int workers, UpdateMode mode) {
  ServerJob job;
  job.mode = mode;
  job.workers = job.servers = workers;
  job.step.forward = 30_ms;
  job.step.backward = 70_ms;
  for (int b = 1; b <= 4; ++b) job.step.buckets.push_back({30_ms + b * 17.5_ms, 25_MB, 25_MB});
  job.network_share = 1 - 1.0 / workers;
  ServerPorts& ports = job.ports;
  ports.worker = ports.worker_node = ports.server_node = 10_Gbps;
  ports.server_share = ports.process_share = 1.0 / workers;
  ports.nodes = workers;
  ports.colocated = true;
  job.message = 50_us;
  job.server_update = 50_GBps;
  job.update_share = 1.0 / workers;
  job.overlap_pull = false;
  return job;
}

TEST(ParameterServers, AsynchronousNeverWaitsAtABarrier) {
  for (const double spread : {0.0, 0.1, 0.5}) {
    ServerJob job = colocated(8, UpdateMode::asynchronous);
    job.step_spread = spread;
    EXPECT_EQ(run_servers(job).barrier_wait, Seconds(0)) << spread;
  }
}

// Eight workers in two leaves, a server beside each: a worker's push sends half of itself to the other leaf, and its
// leaf's servers get as much from there. One server on a node of its own takes all of the other leaf's.
TEST(ServerRates, ShareTheUplinksOfLeaves) {
  ServerPorts ports = colocated(8, UpdateMode::asynchronous).ports;
  ports.uplinks = {{4_Gbps, 0.5, 0.5 / 0.875, 4 * 0.125 / 0.875}};
  EXPECT_NEAR(server_rates(ports, 8, 0).push.in(1_Gbps), 4 / (4 * 0.5 / 0.875), 1e-9);
  EXPECT_NEAR(server_rates(ports, 8, 8).pull.in(1_Gbps), 4 / (8 * 0.5 / 0.875), 1e-9);
  ports.uplinks = {{4_Gbps, 0.5, 0, 1}, {4_Gbps, 0.5, 1, 0}};
  EXPECT_NEAR(server_rates(ports, 8, 0).push.in(1_Gbps), 1, 1e-9);
  // Both directions have the links to themselves.
  EXPECT_NEAR(server_rates(ports, 8, 8).push.in(1_Gbps), 1, 1e-9);
  // One worker's flow is a whole one.
  EXPECT_NEAR(server_rates(ports, 1, 0).push.in(1_Gbps), 4, 1e-9);
}

// Alike workers miss one update of every other worker.
TEST(ParameterServers, AsynchronousStalenessIsOneUpdateOfEveryOther) {
  for (const int workers : {4, 8, 16, 32}) {
    ServerJob job = colocated(workers, UpdateMode::asynchronous);
    job.step_spread = 0.05;
    const ServerRun run = run_servers(job);
    ASSERT_TRUE(run.outcome.staleness);
    EXPECT_NEAR(run.outcome.staleness->mean, workers - 1, 0.1 * workers) << workers;
    EXPECT_GE(run.outcome.staleness->p95, run.outcome.staleness->mean);
    const auto& shares = run.outcome.staleness->shares;
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
  }
}

// Flows that share a port evenly do not bring workers into step: where the network is all, each misses the others' too.
TEST(ParameterServers, StalenessIsAsLargeWhereTheNetworkBinds) {
  ServerJob job = colocated(8, UpdateMode::asynchronous);
  job.ports.worker = job.ports.worker_node = job.ports.server_node = 1_Gbps;
  const ServerRun run = run_servers(job);
  EXPECT_NEAR(run.outcome.staleness->mean, 7, 0.7);
}

// All workers compute on the same parameters, so no gradient misses anything, whichever is applied first.
TEST(ParameterServers, ABoundOfZeroLeavesNothingStale) {
  ServerJob job = colocated(8, UpdateMode::stale_synchronous);
  job.step_spread = 0.1;
  const ServerRun run = run_servers(job);
  EXPECT_EQ(run.outcome.staleness->mean, 0);
  EXPECT_EQ(run.outcome.staleness->most, 0);
}

TEST(UpdateHistory, CountsUpdatesOfOtherParametersSinceTheReading) {
  UpdateHistory history;
  // Two gradients of the first parameters are one synchronous step.
  EXPECT_EQ(history.apply(0), 0);
  EXPECT_EQ(history.apply(0), 0);
  // One that was read between them missed the second, and one of the first parameters both of the others.
  EXPECT_EQ(history.apply(1), 1);
  EXPECT_EQ(history.apply(0), 1);
  EXPECT_EQ(history.updates(), 4);
}

TEST(ParameterServers, SynchronousStragglersCostWhatAsynchronousOnesDoNot) {
  ServerJob synchronous = colocated(16, UpdateMode::synchronous),
            asynchronous = colocated(16, UpdateMode::asynchronous);
  synchronous.step_spread = asynchronous.step_spread = 0.3;
  const ServerRun waits = run_servers(synchronous), runs = run_servers(asynchronous);
  EXPECT_GT(waits.barrier_wait, Seconds(0));
  EXPECT_LT(runs.step, waits.step);
  EXPECT_FALSE(waits.outcome.staleness);
}

class StalenessBound : public testing::TestWithParam<int> {};
TEST_P(StalenessBound, IsRespected) {
  ServerJob job = colocated(12, UpdateMode::stale_synchronous);
  job.step_spread = 0.6;
  job.worker_spread = 0.3;
  job.staleness_bound = GetParam();
  const ServerRun run = run_servers(job);
  EXPECT_LE(run.outcome.most_ahead, GetParam());
  // With workers this unequal the bound is reached.
  EXPECT_EQ(run.outcome.most_ahead, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Bounds, StalenessBound, testing::Values(0, 1, 2, 5));

TEST(StalenessBound, LooserBoundsAreNotSlower) {
  Seconds before(1e9);
  for (const int bound : {0, 1, 4, 16}) {
    ServerJob job = colocated(12, UpdateMode::stale_synchronous);
    job.step_spread = 0.4;
    job.staleness_bound = bound;
    const Seconds step = run_servers(job).step;
    EXPECT_LE(step, before * 1.02) << bound;
    before = step;
  }
}

TEST(BackupWorkers, DropTheLateAndShortenTheWait) {
  ServerJob job = colocated(20, UpdateMode::backup_workers);
  job.step_spread = 0.4;
  job.backup_workers = 1;
  const ServerRun one = run_servers(job);
  EXPECT_NEAR(one.outcome.dropped_share, 1.0 / 20, 0.02);
  job.mode = UpdateMode::synchronous;
  EXPECT_LT(one.barrier_wait, run_servers(job).barrier_wait);
}

// As many servers as workers, beside them: the bytes of a ring, 2(N − 1)/N of the gradients each way.
TEST(ParameterServers, BesideEveryWorkerMoveWhatARingMoves) {
  for (const int workers : {2, 4, 8, 16}) {
    ServerJob job = colocated(workers, UpdateMode::synchronous);
    const ServerRun run = run_servers(job);
    const Bytes each_way = 100_MB * (1 - 1.0 / workers);
    EXPECT_NEAR(run.outcome.sent_per_worker / each_way, 1, 1e-9);
    EXPECT_NEAR(run.outcome.received_per_worker / each_way, 1, 1e-9);
    // Push and pull do not both fit under the backward pass: at least what the wire takes beyond it is seen.
    const Seconds wire = 2.0 * each_way / 10_Gbps;
    EXPECT_GE(run.step, wire * 0.999);
    EXPECT_LE(run.step, wire + job.step.busy() + 5_ms);
  }
}

// One server's port carries N gradients in and N models out.
TEST(ParameterServers, OneServerIsTheBottleneckThatGrowsWithWorkers) {
  const auto step = [](int workers) {
    ServerJob job = colocated(workers, UpdateMode::synchronous);
    job.servers = 1;
    job.network_share = 1;
    job.ports.colocated = false;
    job.ports.server_share = job.ports.process_share = job.update_share = 1;
    return run_servers(job).step;
  };
  // Pulls of the first buckets flow beside pushes of the last, the other way through the same port.
  const Seconds one_way = 8.0 * 100_MB / 10_Gbps;
  EXPECT_GE(step(8), one_way);
  EXPECT_LE(step(8), 2.0 * one_way + 100_ms);
  EXPECT_NEAR(step(16) / step(8), 2, 0.15);
}

// TensorFlow frees its workers when all variables have been updated: four times 100 MB go in at 1.25 GB/s from the
// first bucket's 47.5 ms on, are applied (the last bucket's 100 MB at 50 GB/s), and come out in as long again. Servers
// that answer bucket by bucket send while they receive.
TEST(ParameterServers, PullsAfterTheLastPushDoNotOverlapIt) {
  ServerJob job = colocated(4, UpdateMode::synchronous);
  job.servers = 1;
  job.network_share = 1;
  job.ports.colocated = false;
  job.ports.server_share = job.ports.process_share = job.update_share = 1;
  job.pull_after_push = true;
  EXPECT_NEAR(run_servers(job).step.in(1_ms), 47.5 + 320 + 2 + 320, 2);
  job.pull_after_push = false;
  EXPECT_LT(run_servers(job).step, 560_ms);
}

TEST(ParameterServers, ALockedDriverServesOneAtATime) {
  ServerJob job = colocated(8, UpdateMode::asynchronous);
  job.servers = 1;
  job.network_share = 1;
  job.ports.colocated = false;
  job.ports.one_process = true;
  job.ports.server_process = 1_GBps;
  job.ports.server_share = job.ports.process_share = job.update_share = 1;
  job.locked_server = true;
  // 8 workers × 200 MB through one process of 1 GB/s.
  EXPECT_NEAR(run_servers(job).step / 1.6_s, 1, 0.05);
  job.local_steps = 100;
  EXPECT_LT(run_servers(job).step, 0.12_s);
}

/// Asynchronous workers of `apart` servers' own machines, gradients in one piece when the pass ends.
ServerJob apart(int workers, int servers, BytesPerSecond server_port) {
  ServerJob job = colocated(workers, UpdateMode::asynchronous);
  job.servers = servers;
  job.network_share = 1;
  job.step.buckets = {{job.step.busy(), 100_MB, 100_MB}};
  job.ports.colocated = false;
  job.ports.server_node = server_port;
  job.ports.server_share = job.ports.process_share = job.update_share = 1.0 / servers;
  return job;
}

// Servers that nobody waits for: compute 100 ms, push 100 MB at 1.25 GB/s, apply a quarter of it at 50 GB/s, pull, and
// two messages of 50 us.
TEST(AsynchronousServers, WorkerBoundStepIsTheWorkersOwnRound) {
  for (const int workers : {1, 2, 16}) {
    const ServerRun run = run_servers(apart(workers, 4, 1000_Gbps));
    EXPECT_NEAR(run.step.in(1_ms), 100 + 80 + 0.5 + 80 + 0.1, 0.01) << workers;
    EXPECT_EQ(run.barrier_wait, Seconds(0));
  }
}

// Summed gradients become parameters on the worker: 30 ms after the pull, under which no forward pass runs.
TEST(SynchronousServers, WorkersThatUpdateDoSoAfterThePull) {
  ServerJob job = apart(2, 4, 1000_Gbps);
  job.mode = UpdateMode::synchronous;
  job.step.update = 30_ms;
  job.workers_update = true;
  for (const bool overlap : {false, true}) {
    job.overlap_pull = overlap;
    EXPECT_NEAR(run_servers(job).step.in(1_ms), 100 + 80 + 1 + 80 + 0.1 + 30, 0.6) << overlap;
  }
}

// The next forward pass begins with the first layers, whose gradients are made and applied last: it hides what other
// layers' parameters take, never what the first ones' do. Four buckets of 20 ms each way, the last one ready at 100 ms:
// without a queue pushed by 120 ms and pulled by 140.
TEST(SynchronousServers, NoForwardPassBeginsBeforeItsParameters) {
  ServerJob job = apart(2, 4, 1000_Gbps);
  job.mode = UpdateMode::synchronous;
  job.overlap_pull = true;
  job.step.buckets.clear();
  for (int b = 1; b <= 4; ++b) job.step.buckets.push_back({25_ms * static_cast<double>(b), 25_MB, 25_MB});
  EXPECT_NEAR(run_servers(job).step.in(1_ms), 140, 1);
  // Where all are pulled at the end, the first of four 20 ms has to pass, and 60 ms hide under 22.5 ms of a forward
  // pass.
  job.pull_after_push = true;
  EXPECT_NEAR(run_servers(job).step.in(1_ms), 120 + 80 - 22.5, 1);
}

// Servers whose ports are full: N gradients of 100 MB in (and models out, the other way) at M ports of 1.25 GB/s. Alike
// workers go in convoys, pushing while nobody pulls, so a part of the ports' time is lost; never more than an eighth.
TEST(AsynchronousServers, ServerBoundStepIsWhatTheirPortsCarry) {
  for (const int servers : {1, 2, 4}) {
    const int workers = 32;
    const ServerRun run = run_servers(apart(workers, servers, 10_Gbps));
    const Seconds port = static_cast<double>(workers) * 100_MB / (servers * 10_Gbps);
    EXPECT_GE(run.step / port, 0.999) << servers;
    EXPECT_LE(run.step / port, 1.125) << servers;
    EXPECT_GT(run.outcome.server_busy, 1 / 1.125) << servers;
  }
}

// Between the two limits a step is never shorter than either, nor longer than both together.
TEST(AsynchronousServers, LieBetweenTheirLimits) {
  for (int workers = 1; workers <= 16; ++workers) {
    ServerJob job = apart(workers, 1, 20_Gbps);
    job.step_spread = 0.1;
    const Seconds own(0.2606), port = static_cast<double>(workers) * 100_MB / 20_Gbps;
    const ServerRun run = run_servers(job);
    EXPECT_GE(run.step, 0.97 * std::max(own, port)) << workers;
    EXPECT_LE(run.step, 1.03 * (own + port)) << workers;
  }
}

TEST(ParameterServers, SameSeedSameFigures) {
  ServerJob job = colocated(9, UpdateMode::asynchronous);
  job.step_spread = 0.2;
  const ServerRun first = run_servers(job), second = run_servers(job);
  EXPECT_EQ(first.step.value(), second.step.value());
  EXPECT_EQ(first.outcome.staleness->shares, second.outcome.staleness->shares);
  job.seed = 2;
  EXPECT_NE(first.step.value(), run_servers(job).step.value());
}

TEST(Shards, WholeVariablesMakeTheLargestServerTheBottleneck) {
  // VGG-16's fc6 is 103 of 138 M parameters.
  const std::vector<double> tensors{1e6, 2e6, 4e6, 8e6, 102.8e6, 16.8e6, 4.1e6};
  const double all = std::accumulate(tensors.begin(), tensors.end(), 0.0);
  const auto by_variable = server_shares(ServerSharding::by_variable, tensors, 4, 0);
  EXPECT_NEAR(busiest_share(by_variable), (102.8e6 + 1e6) / all, 1e-9);
  EXPECT_NEAR(busiest_share(server_shares(ServerSharding::balanced, tensors, 4, 0)), 0.25, 1e-9);
  const auto cut = server_shares(ServerSharding::large_arrays, tensors, 4, 1e6);
  EXPECT_NEAR(busiest_share(cut), 0.25, 1e-9);
  for (const auto& shares : {by_variable, cut})
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
}

// Four servers on two nodes: the first and the third lie together, the second and the fourth.
TEST(Shards, PlacesHoldWhatTheirServersDo) {
  const std::vector<double> of_nodes = dealt_out({0.4, 0.3, 0.1, 0.2}, 2);
  EXPECT_NEAR(of_nodes[0], 0.5, 1e-12);
  EXPECT_NEAR(of_nodes[1], 0.5, 1e-12);
  EXPECT_EQ(dealt_out({0.4, 0.6}, 3), (std::vector<double>{0.4, 0.6, 0}));
}

// MXNet: an array of 10^6 elements is cut, one of a single element less is not.
TEST(Shards, MxnetCutsArraysFromItsBoundOn) {
  EXPECT_NEAR(busiest_share(server_shares(ServerSharding::large_arrays, {1e6}, 4, 1e6)), 0.25, 1e-9);
  EXPECT_NEAR(busiest_share(server_shares(ServerSharding::large_arrays, {999999}, 4, 1e6)), 1, 1e-9);
}

// MXNet deals whole tensors out, the largest first: 8 of 16 elements meet on one of four devices, twice its share.
TEST(Owners, TheLargestTensorDecides) {
  EXPECT_DOUBLE_EQ(busiest_owner({2, 8, 2, 4}, 4), 2);
  EXPECT_DOUBLE_EQ(busiest_owner({4, 4, 4, 4}, 4), 1);
  EXPECT_DOUBLE_EQ(busiest_owner({2, 3, 2, 3, 2}, 2),
                   7.0 / 6);  // 3, 2 and 2 against 3 and 2: no even cut is looked for
  EXPECT_DOUBLE_EQ(busiest_owner({2, 8, 2, 4}, 1), 1);
}

GossipJob gossip(int workers) {
  GossipJob job;
  job.exchanges = {{ring_graph(workers), 40_ms}};
  job.busy = 100_ms;
  job.noise = {0, 0.2};
  return job;
}

TEST(Gossip, HidesTheExchangeUnderTheComputation) {
  GossipJob job = gossip(16);
  job.noise = {};
  EXPECT_NEAR(run_gossip(job).step / 100_ms, 1, 1e-9);
  job.exchanges.front().time = 150_ms;
  EXPECT_NEAR(run_gossip(job).step / 150_ms, 1, 1e-9);
}

// Steps that hide their exchange between such that do not.
TEST(Gossip, TakesItsExchangesInTurn) {
  GossipJob job = gossip(16);
  job.noise = {};
  job.exchanges.push_back({ring_graph(16), 160_ms});
  EXPECT_NEAR(run_gossip(job).step / 130_ms, 1, 1e-9);
}

TEST(Gossip, WaitsForNeighboursOnlyAndPairsForNobody) {
  const GossipJob job = gossip(64);
  const GossipRun ring = run_gossip(job);
  const GossipRun pairs = run_pairs(job);
  // What a barrier costs: the slowest of 64 draws of 20 % is about half as slow again.
  EXPECT_LT(ring.step, 135_ms);
  EXPECT_GT(ring.neighbour_wait, Seconds(0));
  EXPECT_EQ(pairs.neighbour_wait, Seconds(0));
  EXPECT_NEAR(pairs.step / 100_ms, 1, 0.03);
  EXPECT_LT(pairs.step, ring.step);
}

// A pair averages with a model about one step old, an asynchronous server's worker with one N − 1 updates old.
TEST(Gossip, PairsAreLessStaleThanAsynchronousServers) {
  const GossipRun pairs = run_pairs(gossip(16));
  ServerJob servers = colocated(16, UpdateMode::asynchronous);
  servers.step_spread = 0.2;
  EXPECT_LT(pairs.staleness.mean, 2);
  EXPECT_LT(pairs.staleness.mean, run_servers(servers).outcome.staleness->mean);
}

TEST(LocalSteps, DivideTheExchangeAndEvenOutTheJitter) {
  LocalJob job{8, 1, 100_ms, 200_ms, {0, 0.2}, 1};
  const LocalRun every = run_local(job);
  job.steps = 50;
  const LocalRun rarely = run_local(job);
  EXPECT_GT(every.step, 300_ms);
  EXPECT_NEAR(rarely.step / 104_ms, 1, 0.1);
  EXPECT_LT(rarely.barrier_wait, every.barrier_wait / 4);
}

FederatedJob federated(int selected) {
  FederatedJob job;
  job.selected = selected;
  job.busy = 1_s;
  job.local_steps = 30;
  job.upload = job.download = 10_MB;
  job.parameters = 2.5e6;
  job.spec.upload = BytesPerSecond(10e6 / 8);
  job.spec.download = BytesPerSecond(50e6 / 8);
  job.spec.server = 10_Gbps;
  return job;
}

// 10 MB down at 50 Mb/s 1.6 s, 30 s of work, 10 MB up at 10 Mb/s 8 s.
TEST(Federated, ARoundIsDownloadWorkAndUpload) { EXPECT_NEAR(run_federated(federated(10)).round.value(), 39.6, 0.01); }

TEST(Federated, TheSlowestClientEndsTheRound) {
  FederatedJob job = federated(50);
  job.spec.speed_spread = 0.5;
  job.spec.clients = 1000;
  const FederatedRun run = run_federated(job);
  EXPECT_GT(run.round, 60_s);
  EXPECT_GT(run.wait, 20_s);
}

// Ten of ten clients are all of them, and whom a round takes first does not depend on how many it takes.
TEST(Federated, ClientsOfARoundAreAllDifferent) {
  const RandomDraw draw(1);
  for (int round = 0; round < 20; ++round) {
    const std::vector<std::uint64_t> all = clients_of_round(draw, round, 10, 10);
    EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), 10U) << round;
    const std::vector<std::uint64_t> many = clients_of_round(draw, round, 100, 1000);
    const std::vector<std::uint64_t> few = clients_of_round(draw, round, 10, 1000);
    EXPECT_EQ(std::set<std::uint64_t>(many.begin(), many.end()).size(), 100U) << round;
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << round;
  }
  EXPECT_NE(clients_of_round(draw, 0, 10, 1000), clients_of_round(draw, 1, 10, 1000));
}

// A transfer that ends after everything else that anyone waits for.
TEST(Federated, TransfersOfAnyLengthEnd) {
  FederatedJob job = federated(10);
  job.spec.upload = BytesPerSecond(1e-27);
  EXPECT_NEAR(run_federated(job).round.value() / 1e34, 1, 1e-6);
}

TEST(Federated, TheServersLinkIsShared) {
  FederatedJob job = federated(1000);
  job.spec.server = BytesPerSecond(100e6 / 8);
  // 1,000 × 10 MB each way through 100 Mb/s are 800 s each.
  EXPECT_NEAR(run_federated(job).round.value(), 800 + 30 + 800, 10);
}

// Bonawitz et al. 2017: 1.73 times a plain 16-bit upload for 2^10 clients of 2^20 values, 1.98 for 2^14 of 2^24.
TEST(SecureAggregation, ExpandsUploadsAsPublished) {
  const double small = secure_aggregation(1 << 10, 1 << 20).upload / Bytes(2.0 * (1 << 20));
  const double large = secure_aggregation(1 << 14, 1 << 24).upload / Bytes(2.0 * (1 << 24));
  EXPECT_NEAR(small, 1.73, 0.06);
  EXPECT_NEAR(large, 1.98, 0.06);
}

TEST(Compression, SendsTheBytesThatItsMethodSays) {
  const auto bytes = [](CompressionMethod method, double ratio = 0.01, int rank = 4) {
    CompressionSpec spec;
    spec.method = method;
    spec.ratio = ratio;
    spec.rank = rank;
    return compression_of(spec, 4, {{1000, 1000, 1}}, 1e6).bytes_per_element;
  };
  EXPECT_DOUBLE_EQ(bytes(CompressionMethod::none), 4);
  EXPECT_DOUBLE_EQ(bytes(CompressionMethod::fp16), 2);
  EXPECT_DOUBLE_EQ(bytes(CompressionMethod::top_k), 0.08);
  EXPECT_DOUBLE_EQ(bytes(CompressionMethod::random_k), 0.04);
  EXPECT_DOUBLE_EQ(bytes(CompressionMethod::one_bit), 0.125);
  EXPECT_DOUBLE_EQ(bytes(CompressionMethod::two_bit), 0.25);
  EXPECT_DOUBLE_EQ(bytes(CompressionMethod::powersgd), 4 * 4 * 2000 / 1e6);
}

// Vogels et al. 2019: matrices that factors would not make smaller by half are sent whole.
TEST(Compression, PowerSgdLeavesThinMatricesAlone) {
  CompressionSpec spec{CompressionMethod::powersgd, 0.01, 64};
  EXPECT_DOUBLE_EQ(compression_of(spec, 4, {{100, 100, 1}}, 1e4).bytes_per_element, 4);
}

TEST(Draws, AreNormalAndOfMeanOne) {
  const RandomDraw draw(7);
  double sum = 0, squares = 0, factors = 0;
  constexpr int kDraws = 20000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = draw.normal(3, i);
    sum += x;
    squares += x * x;
    factors += draw.factor(0.3, 5, i);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.03);
  EXPECT_NEAR(squares / kDraws, 1, 0.04);
  EXPECT_NEAR(factors / kDraws, 1, 0.01);
  EXPECT_EQ(draw.factor(0, 1, 1), 1);
}

}  // namespace
}  // namespace stepcast::updates_test
