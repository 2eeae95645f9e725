#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "models/rank_graph/rank_index.hpp"
#include "sim/rank_graph/rank_step.hpp"
#include "tests/sim/graphs.hpp"

namespace stepcast::rank_step_property_test {
namespace {

/// Hosts of one rank on one switch: 10 GB/s, 2 µs.
GraphCluster hosts(int count) {
  GraphCluster out;
  out.nodes = count;
  Interconnect& net = out.interconnect;
  net.nic = net.node_network = net.rank_network = net.native = 10_GBps;
  net.nics = 1;
  net.network_hop = net.native_hop = 2_us;
  net.bulk = {2_us, 2_us, 2_us, 1, 1};
  net.small_messages = net.bulk;
  return out;
}

/// A random graph: every rank has computations on one stream or on streams of their own, and between them all ranks
/// meet in the same collectives and hand messages on around a ring.
RankGraph random_graph(bool streams_apart) {
  RankGraph graph;
  const int ranks = *rc::gen::inRange(1, 5), rounds = *rc::gen::inRange(1, 4);
  graph.ranks = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    RankProgram program{{rank}, {}};
    std::uint64_t id = 0, last = 0;
    const auto add = [&](RankOperation operation) {
      operation.id = ++id;
      if (last > 0) operation.after.push_back(last);
      if (id > 2 && *rc::gen::inRange(0, 2) == 0) operation.after.push_back(*rc::gen::inRange<std::uint64_t>(1, id));
      std::sort(operation.after.begin(), operation.after.end());
      operation.after.erase(std::unique(operation.after.begin(), operation.after.end()), operation.after.end());
      program.operations.push_back(operation);
    };
    for (int round = 0; round < rounds; ++round) {
      const int computations = *rc::gen::inRange(0, 4);
      for (int i = 0; i < computations; ++i) {
        RankOperation compute;
        compute.duration = *rc::gen::inRange(0, 100) * 1_us;
        if (streams_apart) compute.stream = "s" + std::to_string(id);
        add(compute);
      }
      last = id;
      RankOperation meeting;
      meeting.kind = RankOperationKind::collective;
      meeting.collective = CollectiveKind::all_reduce;
      meeting.size = 1_MB * (round + 1);
      add(meeting);
      if (ranks == 1) continue;
      RankOperation send;
      send.kind = RankOperationKind::send;
      send.peer = (rank + 1) % ranks;
      send.size = 2_MB;
      add(send);
      RankOperation receive;
      receive.kind = RankOperationKind::receive;
      receive.peer = (rank + ranks - 1) % ranks;
      add(receive);
    }
    graph.programs.push_back(std::move(program));
  }
  return graph;
}

/// Longest chain over what operations wait for, on idle links: no run can be shorter. Operations that are joined end
/// together.
Seconds longest_chain(const RankStep& step) {
  const StepGraph& graph = step.graph;
  std::vector<double> end(graph.operations().size(), 0);
  std::vector<std::int32_t> waiting = graph.predecessor_counts();
  std::vector<int> ready;
  for (int i = 0; i < static_cast<int>(waiting.size()); ++i)
    if (waiting[i] == 0) ready.push_back(i);
  double longest = 0;
  for (std::size_t at = 0; at < ready.size(); ++at) {
    const int i = ready[at];
    double start = 0;
    for (const int before : graph.predecessors(i)) start = std::max(start, end[before]);
    end[i] = start + (i < static_cast<int>(step.parts.size()) ? step.parts[i].alone.value() : 0);
    longest = std::max(longest, end[i]);
    for (const auto next : graph.successors(i))
      if (--waiting[next] == 0) ready.push_back(static_cast<int>(next));
  }
  return Seconds(longest);
}

RC_GTEST_PROP(RankStep, NeverTakesLessThanItsLongestChain, ()) {
  const RankGraph graph = random_graph(*rc::gen::arbitrary<bool>());
  const RankIndex index(graph, RankGraphPlaces("g.json"));
  const RankClasses classes(index, 1);
  const RankStep step = build_rank_step(index, classes, hosts(*graph.ranks), "g.json");
  const Timeline timeline = test::simulated(step.graph);
  RC_ASSERT(timeline.end.value() >= longest_chain(step).value() * (1 - 1e-9) - 1e-12);
}

RC_GTEST_PROP(RankStep, WithoutContentionTakesItsLongestChain, ()) {
  // One rank alone: nothing shares a link, and every computation has a stream of its own.
  RankGraph graph = random_graph(true);
  graph.ranks = 1;
  graph.programs.resize(1);
  auto& operations = graph.programs[0].operations;
  for (RankOperation& operation : operations)
    if (operation.peer || operation.collective) {
      operation = {operation.id, "", RankOperationKind::compute, operation.after};
      operation.duration = 3_us;
      operation.stream = "own " + std::to_string(operation.id);
    }
  const RankIndex index(graph, RankGraphPlaces("g.json"));
  const RankClasses classes(index, 1);
  const RankStep step = build_rank_step(index, classes, hosts(1), "g.json");
  const Timeline timeline = test::simulated(step.graph);
  RC_ASSERT(std::abs(timeline.end.value() - longest_chain(step).value()) <= 1e-9);
}

/// Ranks that are alike are simulated once; telling them apart must not change the step.
TEST(RankStep, FoldingChangesNothing) {
  RankGraph folded;
  folded.ranks = 8;
  RankProgram program;
  for (int rank = 0; rank < 8; ++rank) program.ranks.push_back(rank);
  RankOperation compute{1, "forward", RankOperationKind::compute};
  compute.duration = 50_us;
  RankOperation pairs{2, "pairs", RankOperationKind::collective, {1}};
  pairs.collective = CollectiveKind::all_reduce;
  pairs.size = 4_MB;
  pairs.group = "pairs";
  RankOperation send{3, "send", RankOperationKind::send, {2}};
  send.peer_offset = 4;
  send.size = 1_MB;
  RankOperation receive{3, "receive", RankOperationKind::receive, {2}};
  receive.peer_offset = -4;
  RankOperation all{4, "all", RankOperationKind::collective, {3}};
  all.collective = CollectiveKind::all_gather;
  all.share = 2_MB;
  folded.groups = {{"pairs", {{0, 1}, {2, 3}, {4, 5}, {6, 7}}}};
  folded.programs = {{{0, 1, 2, 3}, {compute, pairs, send, all}}, {{4, 5, 6, 7}, {compute, pairs, receive, all}}};
  RankGraph apart = folded;
  apart.programs.clear();
  for (int rank = 0; rank < 8; ++rank) apart.programs.push_back({{rank}, folded.programs[rank / 4].operations});

  GraphCluster cluster = hosts(2);
  cluster.devices_per_node = 4;
  const auto step_time = [&](const RankGraph& graph, int classes_expected) {
    const RankIndex index(graph, RankGraphPlaces("g.json"));
    const RankClasses classes(index, cluster.devices_per_node);
    EXPECT_EQ(classes.count(), classes_expected);
    const RankStep step = build_rank_step(index, classes, cluster, "g.json");
    return test::simulated(step.graph).end.value();
  };
  const double one = step_time(folded, 2);
  EXPECT_NEAR(one, step_time(apart, 8), 1e-6 * one);
}

}  // namespace
}  // namespace stepcast::rank_step_property_test
