#include "models/collectives/gossip.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/round_ports.hpp"

namespace stepcast::gossip_test {
namespace {

constexpr double kTight = 1e-9;

// Eight nodes on two leaves: a ring's neighbours send each other one buffer over the boundary at either end of a leaf.
TEST(Gossip, CountsTheEdgesThatLeaveALeaf) {
  PeerPorts ports = round_ports();
  ports.levels = {{5_GBps, {0, 0, 0, 0, 1, 1, 1, 1}}};
  EXPECT_NEAR(gossip_round(ring_graph(8), 100_MB, 1, ports).time.in(1_ms), 40, kTight);
  ports.levels[0].members = {0, 1, 0, 1, 0, 1, 0, 1};
  EXPECT_NEAR(gossip_round(ring_graph(8), 100_MB, 1, ports).time.in(1_ms), 160, kTight);
}

TEST(GossipRing, SharesTheNodesNicsBetweenItsTwoEdges) {
  // One rank a node: 2 × 100 MB at the 5 GB/s of a rank.
  EXPECT_NEAR(gossip_round(ring_graph(4), 100_MB, 1, round_ports()).time.in(1_ms), 40, kTight);
  // Four ranks a node: two edges leave it, from different ranks: 100 MB each at 5 GB/s; inside, a rank sends at most 2.
  const GossipRound packed = gossip_round(ring_graph(8), 100_MB, 4, round_ports());
  EXPECT_NEAR(packed.time.in(1_ms), 20, kTight);
  EXPECT_DOUBLE_EQ(packed.busiest_node.in(1_MB), 200);
}

TEST(GossipRing, OfTwoHasOneEdgeEachWay) {
  EXPECT_EQ(ring_graph(2).edges.size(), 2U);
  EXPECT_NEAR(gossip_round(ring_graph(2), 100_MB, 2, round_ports(2_us)).time.in(1_us), 1 + 2000, 1e-6);
}

TEST(GossipGraphs, HaveTheDegreesOfTheirKind) {
  EXPECT_EQ(torus_graph(12).out_degree(), 4);  // 3 × 4
  EXPECT_EQ(torus_graph(7).out_degree(), 2);   // prime: a ring
  EXPECT_EQ(torus_graph(4).out_degree(), 2);   // 2 × 2: both ways round lead to the same peer
  EXPECT_EQ(exponential_graph(16).out_degree(), 4);
  EXPECT_EQ(exponential_graph(17).out_degree(), 5);  // 1, 2, 4, 8, 16
  EXPECT_EQ(exponential_graph(16).in_degree(), 4);
}

// Strides of 1, 2, 4 and 8 in turn, a peer each.
TEST(ExponentialRounds, HaveOnePeerEach) {
  const std::vector<GossipGraph> rounds = exponential_rounds(16);
  ASSERT_EQ(rounds.size(), 4U);
  for (const GossipGraph& round : rounds) {
    EXPECT_EQ(round.out_degree(), 1);
    EXPECT_EQ(round.in_degree(), 1);
  }
  EXPECT_EQ(rounds.back().edges.front(), std::pair(0, 8));
  EXPECT_TRUE(exponential_rounds(1).front().edges.empty());
}

// Four ranks a node: strides of 1 and 2 leave a node once and twice, 4 with all four ranks: 100 MB at the 5 GB/s of a
// rank, 200 MB at the 10 GB/s of the node, 400 MB at these.
TEST(ExponentialRounds, TakeTheMeanOfTheirTimes) {
  const GossipRound mean = mean_gossip_round(exponential_rounds(8), 100_MB, 4, round_ports());
  EXPECT_NEAR(mean.time.in(1_ms), (20 + 20 + 40) / 3.0, kTight);
  EXPECT_NEAR(mean.busiest_node.in(1_MB), 700 / 3.0, kTight);
  EXPECT_NEAR(mean.busiest_rank.in(1_MB), 100, kTight);
}

TEST(GossipGraphs, OfOneRankHaveNoEdge) {
  for (const GossipGraph& graph : {ring_graph(1), torus_graph(1), exponential_graph(1)}) {
    EXPECT_TRUE(graph.edges.empty());
    EXPECT_TRUE(graph.strongly_connected());
    EXPECT_EQ(gossip_round(graph, 1_GB, 1, round_ports(1_us, 1_us)).time, Seconds(0));
  }
}

TEST(RandomRegularGraph, IsSimpleRegularAndTheSameForASeed) {
  for (const auto& [ranks, degree] : {std::pair{10, 3}, {10, 9}, {9, 4}, {64, 6}, {6, 1}, {100, 50}, {512, 255}}) {
    const GossipGraph graph = random_regular_graph(ranks, degree, 7);
    EXPECT_EQ(graph.edges.size(), static_cast<std::size_t>(ranks) * static_cast<std::size_t>(degree));
    EXPECT_EQ(graph.out_degree(), degree);
    EXPECT_EQ(graph.in_degree(), degree);
    const std::set<std::pair<int, int>> edges(graph.edges.begin(), graph.edges.end());
    EXPECT_EQ(edges.size(), graph.edges.size());
    for (const auto& [from, to] : edges) {
      EXPECT_NE(from, to);
      EXPECT_TRUE(edges.contains({to, from}));
    }
    EXPECT_EQ(graph.edges, random_regular_graph(ranks, degree, 7).edges);
  }
  EXPECT_NE(random_regular_graph(64, 6, 1).edges, random_regular_graph(64, 6, 2).edges);
}

TEST(RandomRegularGraph, RefusesWhatCannotBe) {
  EXPECT_THROW(random_regular_graph(9, 3, 1), InputError);  // 27 ends
  EXPECT_THROW(random_regular_graph(8, 8, 1), InputError);
  EXPECT_THROW(random_regular_graph(8, 0, 1), InputError);
}

TEST(ExplicitGraph, NamesEveryFaultyEdge) {
  try {
    explicit_graph(4, {{0, 1}, {1, 4}, {2, 2}, {0, 1}}, "edges.txt");
    FAIL();
  } catch (const InputError& error) {
    ASSERT_EQ(error.faults().size(), 3U);
    EXPECT_EQ(error.faults()[0].pointer, "/1");
    EXPECT_EQ(error.faults()[2].pointer, "/3");
  }
  EXPECT_THROW(explicit_graph(4, {}, "edges.txt"), InputError);
}

TEST(ExplicitGraph, OneHubIsTheBusiestPort) {
  // Three ranks send to rank 0: 300 MB enter it at 5 GB/s; two more messages cost a gap each.
  const GossipGraph star = explicit_graph(4, {{1, 0}, {2, 0}, {3, 0}}, "edges.txt");
  EXPECT_NEAR(gossip_round(star, 100_MB, 1, round_ports(3_us, 1_us)).time.in(1_us), 3 + 2 + 60000, 1e-6);
  EXPECT_FALSE(star.strongly_connected());
}

}  // namespace
}  // namespace stepcast::gossip_test
