#include "models/collectives/parameter_server.hpp"

#include <gtest/gtest.h>

#include "tests/unit/round_ports.hpp"

namespace stepcast::parameter_server_test {
namespace {

constexpr double kTight = 1e-9;

double milliseconds(const ParameterServers& layout, const PeerPorts& p = round_ports()) {
  return parameter_server_exchange(100_MB, layout, p).time.in(1_ms);
}

TEST(ParameterServer, OneServerTakesEveryWorkersGradient) {
  // 8 workers, one server: 800 MB enter it at the 5 GB/s of one rank = 160 ms; a worker node sends 100 MB in 20 ms.
  EXPECT_NEAR(milliseconds({8, 1, 1, 1, ServerPlacement::apart}), 160, kTight);
  EXPECT_TRUE(parameter_server_exchange(100_MB, {8, 1, 1, 1, ServerPlacement::apart}, round_ports()).server_bound);
}

TEST(ParameterServer, ShardsDivideTheLoadUntilWorkersBind) {
  EXPECT_NEAR(milliseconds({8, 1, 2, 1, ServerPlacement::apart}), 80, kTight);
  EXPECT_NEAR(milliseconds({8, 1, 8, 1, ServerPlacement::apart}), 20, kTight);
  // Sixteen servers do not make a worker's own link faster: 100 MB at 5 GB/s.
  EXPECT_NEAR(milliseconds({8, 1, 16, 1, ServerPlacement::apart}), 20, kTight);
}

TEST(ParameterServer, RanksOfANodeShareItsNics) {
  // 8 workers on one node send 800 MB at 10 GB/s; the 8 servers on as many nodes take 100 MB each.
  EXPECT_NEAR(milliseconds({8, 8, 8, 1, ServerPlacement::apart}), 80, kTight);
  // Both servers on one node: 800 MB enter it at 10 GB/s.
  EXPECT_NEAR(milliseconds({8, 1, 2, 2, ServerPlacement::apart}), 80, kTight);
}

TEST(ParameterServer, ColocatedShardsOfTheOwnNodeStayInside) {
  // 4 workers and 4 servers, one of each a node: 3/4 of 100 MB leave, and 3 × 25 MB enter, at 5 GB/s: 15 ms.
  const auto exchange = parameter_server_exchange(100_MB, {4, 1, 4, 1, ServerPlacement::colocated}, round_ports());
  EXPECT_NEAR(exchange.time.in(1_ms), 15, kTight);
  EXPECT_DOUBLE_EQ(exchange.busiest_port.in(1_MB), 75);
}

TEST(ParameterServer, FewerServersThanNodesBindTheirNode) {
  // One server beside one of 4 workers: the other 3 send it 300 MB at 5 GB/s.
  EXPECT_NEAR(milliseconds({4, 1, 1, 1, ServerPlacement::colocated}), 60, kTight);
}

TEST(ParameterServer, OnOneNodeNothingLeavesIt) {
  // 4 workers, one server: 400 MB enter it at 50 GB/s, and half a hop is paid.
  const auto exchange = parameter_server_exchange(100_MB, {4, 4, 1, 1, ServerPlacement::colocated}, round_ports(2_us));
  EXPECT_NEAR(exchange.time.in(1_us), 1 + 8000, 1e-6);
  EXPECT_EQ(exchange.busiest_port, Bytes(0));
}

TEST(ParameterServer, EveryFurtherMessageOfTheBusiestEndCostsAGap) {
  // A server takes 8 messages, a worker sends 2: 3 µs and 7 gaps of 0.5 µs.
  const auto exchange = parameter_server_exchange(1_B, {8, 1, 2, 1, ServerPlacement::apart}, round_ports(3_us, 0.5_us));
  EXPECT_NEAR(exchange.start.in(1_us), 3 + 3.5, kTight);
}

// Four nodes of eight workers send 800 MB each at 10 GB/s, in 80 ms. At the 5 GB/s of one rank, a server of sixteen
// takes its part in 40 ms, one of seven in 91, one of four in 160.
TEST(ParameterServer, TheSlowestPortIsNamed) {
  const auto push = [](int servers) {
    return parameter_server_exchange(100_MB, {32, 8, servers, 1, ServerPlacement::apart}, round_ports());
  };
  EXPECT_FALSE(push(16).server_bound);
  EXPECT_DOUBLE_EQ(push(16).busiest_port.in(1_MB), 800);
  EXPECT_TRUE(push(4).server_bound);
  EXPECT_DOUBLE_EQ(push(4).busiest_port.in(1_MB), 800);
  EXPECT_TRUE(push(7).server_bound);
  EXPECT_NEAR(push(7).busiest_port.in(1_MB), 3200 / 7.0, 1e-6);
}

// A host of one rank has no links inside: its own shard stays in memory. The other 7 send theirs at 5 GB/s.
TEST(ParameterServer, ShardsOfHostsWithoutLinksInsideStayInMemory) {
  PeerPorts ports = round_ports();
  ports.native = BytesPerSecond(0);
  EXPECT_NEAR(milliseconds({8, 1, 1, 1, ServerPlacement::colocated}, ports), 140, kTight);
}

// Leaves of two nodes, 2 GB/s between them: all of the workers' 400 MB cross to servers on a leaf of their own; beside
// the workers, each leaf's two servers hold half of what the other one's workers send.
TEST(ParameterServer, LeavesLetThroughWhatHasItsServerElsewhere) {
  PeerPorts ports = round_ports();
  ports.levels = {{2_GBps, {0, 0, 1, 1, 2, 2, 3, 3}}};
  EXPECT_NEAR(milliseconds({4, 1, 4, 1, ServerPlacement::apart}, ports), 100, kTight);
  EXPECT_NEAR(milliseconds({4, 1, 4, 1, ServerPlacement::colocated}, ports), 50, kTight);
  // One server takes 400 MB through its leaf's up-link.
  EXPECT_NEAR(milliseconds({4, 1, 1, 1, ServerPlacement::apart}, ports), 200, kTight);
}

}  // namespace
}  // namespace stepcast::parameter_server_test
