#include "sim/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/sim/graphs.hpp"

namespace stepcast::engine_test {
namespace {

using stepcast::test::simulated;
using stepcast::test::transfer;
using stepcast::test::work;
using testing::HasSubstr;

constexpr EngineOptions kRecord{.record_link_rates = true};
constexpr EngineOptions kReference{.all_flows_in_simgrid = true};

double end_of(const Timeline& timeline, int operation) { return timeline.spans[operation].end.value(); }

/// A graph of one device that each test adds to.
struct Engine : testing::Test {
  Engine() { graph.add_device("device", 1); }
  int flow(std::vector<LinkId> links, Bytes bytes, double start = 0, double weight = 1, BytesPerSecond cap = {}) {
    const PathId path = graph.add_path({std::move(links), weight, cap});
    const int operation = graph.add_operation(transfer(0, start), std::vector<Flow>{{path, bytes}});
    return operation;
  }
  /// The same answer with flows on the clock and with all of them in SimGrid.
  Timeline both_ways() {
    graph.finish();
    Timeline timeline = simulated(graph, kRecord);
    const Timeline reference = simulated(graph, kReference);
    for (std::size_t i = 0; i < timeline.spans.size(); ++i)
      EXPECT_NEAR(end_of(timeline, static_cast<int>(i)), end_of(reference, static_cast<int>(i)), 1e-9) << i;
    return timeline;
  }
  StepGraph graph;
};

TEST_F(Engine, RunsAChainOneAfterAnother) {
  const int first = graph.add_operation(work(0, 1.0)), second = graph.add_operation(work(0, 0.5));
  graph.add_edge(first, second);
  const Timeline timeline = both_ways();
  EXPECT_DOUBLE_EQ(end_of(timeline, second), 1.5);
  EXPECT_DOUBLE_EQ(timeline.spans[second].start.value(), 1.0);
  EXPECT_DOUBLE_EQ(timeline.end.value(), 1.5);
}

TEST_F(Engine, PaysLatencyBeforeTheFlow) {
  const LinkId link = graph.add_link({"link", 1_GBps});
  flow({link}, 1_GB, 0.25);
  const Timeline timeline = both_ways();
  EXPECT_DOUBLE_EQ(timeline.spans[0].start.value(), 0);
  EXPECT_DOUBLE_EQ(timeline.spans[0].flow_start.value(), 0.25);
  EXPECT_NEAR(end_of(timeline, 0), 1.25, 1e-12);
}

/// Latency does not decide shares: two flows of unequal latency get a half each while both run. A: 0.1 s later than B,
/// both 1 GB on 1 GB/s. B alone until 0.1 (0.1 GB), then halves: A ends when … B's 0.9 GB take 1.8 s → 1.9; A then has
/// 0.1 GB left alone → 2.0.
TEST_F(Engine, SharesEquallyWhateverTheLatency) {
  const LinkId link = graph.add_link({"link", 1_GBps});
  const int a = flow({link}, 1_GB, 0.1), b = flow({link}, 1_GB);
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, b), 1.9, 1e-9);
  EXPECT_NEAR(end_of(timeline, a), 2.0, 1e-9);
}

/// Weight 8 stands for eight flows: 8 GB against 2 GB on 10 GB/s. Nine shares of 10/9 GB/s: the heavy flow goes at 80/9
/// and ends at 0.9 s; the other has sent 1 GB by then and the rest alone takes 0.1 s: 1.0 s.
TEST_F(Engine, AWeightTakesThatManyShares) {
  const LinkId link = graph.add_link({"link", 10_GBps});
  const int heavy = flow({link}, 8_GB, 0, 8), other = flow({link}, 2_GB);
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, heavy), 0.9, 1e-9);
  EXPECT_NEAR(end_of(timeline, other), 1.0, 1e-9);
}

/// Two flows capped at 1 GB/s leave 8 of 10 GB/s to two others: 4 each. 1 GB: 1 s capped, 0.25 s uncapped.
TEST_F(Engine, ACapBindsOneFlowAndLeavesTheRestToOthers) {
  const LinkId link = graph.add_link({"link", 10_GBps});
  const int slow = flow({link}, 1_GB, 0, 1, 1_GBps);
  flow({link}, 1_GB, 0, 1, 1_GBps);
  const int fast = flow({link}, 1_GB);
  flow({link}, 1_GB);
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, slow), 1.0, 1e-9);
  EXPECT_NEAR(end_of(timeline, fast), 0.25, 1e-9);
}

TEST_F(Engine, ACappedFlowAloneGoesAtItsCapOnItsLinks) {
  const LinkId link = graph.add_link({"link", 10_GBps});
  const int linked = flow({link}, 1_GB, 0, 1, 2_GBps), unlinked = flow({}, 1_GB, 0, 1, 4_GBps);
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, linked), 0.5, 1e-9);
  EXPECT_NEAR(end_of(timeline, unlinked), 0.25, 1e-9);
}

/// SimGrid 3.32's default update re-solves from the first link of a new flow's route, and stops if that one has been
/// marked by another flow that begins at the same instant. S 100 MB/s, A 50 MB/s; X (100 MB) alone on S; at 0.5 s P on
/// [A] and Q on [A, S]: P and Q get 25 each, X 75. X: 50 MB by 0.5 s, 50 MB at 75 MB/s: 0.5 + 2/3 = 1.1667 s. When S is
/// not re-solved, X goes on at 100 MB/s and ends at 1.0 s.
class TieOnSharedLinks : public Engine, public testing::WithParamInterface<bool> {};
TEST_P(TieOnSharedLinks, KeepsCapacities) {
  const LinkId s = graph.add_link({"S", 100_MBps}), a = graph.add_link({"A", 50_MBps});
  const int x = flow({s}, 100_MB);
  const auto p = [&] { flow({a}, 50_MB, 0.5); };
  const auto q = [&] { flow({a, s}, 50_MB, 0.5); };
  if (GetParam()) {
    q();
    p();
  } else {
    p();
    q();
  }
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, x), 0.5 + 2.0 / 3, 1e-9);
}
INSTANTIATE_TEST_SUITE_P(BothOrders, TieOnSharedLinks, testing::Bool(),
                         [](const auto& order) { return order.param ? "QThenP" : "PThenQ"; });

/// Communication takes a tenth of the compute rate for 0.5 s of a 1 s kernel: 0.45 s of it is done by then, 0.55 s is
/// left: 1.05 s. The optimizer is computing too; the host's work is not.
TEST_F(Engine, CommunicationSlowsComputingDown) {
  const LinkId link = graph.add_link({"link", 2_GBps});
  const int kernel = graph.add_operation(work(0, 1.0)),
            host = graph.add_operation(work(0, 1.0, OperationKind::overhead)),
            update = graph.add_operation(work(0, 1.0, OperationKind::optimizer));
  const PathId path = graph.add_path({{link}});
  graph.add_operation(transfer(0, 0, 0.1F), std::vector<Flow>{{path, 1_GB}});
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, kernel), 1.05, 1e-8);
  EXPECT_NEAR(end_of(timeline, update), 1.05, 1e-8);
  EXPECT_DOUBLE_EQ(end_of(timeline, host), 1.0);
}

/// The latency of a communication neither slows anything down nor is slowed down: the kernel is at full rate for the
/// first 0.5 s, then 0.5 s of work at 0.9.
TEST_F(Engine, LatencySlowsNothingDown) {
  const LinkId link = graph.add_link({"link", 1_GBps});
  const int kernel = graph.add_operation(work(0, 1.0));
  const PathId path = graph.add_path({{link}});
  graph.add_operation(transfer(0, 0.5, 0.1F), std::vector<Flow>{{path, 10_GB}});
  EXPECT_NEAR(end_of(both_ways(), kernel), 0.5 + 0.5 / 0.9, 1e-7);
}

/// Two communications that together take more than there is leave the stated minimum.
TEST_F(Engine, ComputingNeverStops) {
  const LinkId a = graph.add_link({"a", 1_GBps}), b = graph.add_link({"b", 1_GBps});
  const int kernel = graph.add_operation(work(0, 0.01));
  for (const LinkId link : {a, b}) {
    const PathId path = graph.add_path({{link}});
    graph.add_operation(transfer(0, 0, 0.75F), std::vector<Flow>{{path, 1_GB}});
  }
  EXPECT_NEAR(end_of(both_ways(), kernel), 0.01 / kSlowestComputeRate, 1e-9);
}

TEST_F(Engine, SlowdownsOfOneDeviceLeaveOthersAlone) {
  graph.add_device("other", 1);
  const LinkId link = graph.add_link({"link", 1_GBps});
  const int kernel = graph.add_operation(work(1, 0.5));
  graph.add_operation(transfer(0, 0, 0.5F), std::vector<Flow>{{graph.add_path({{link}}), 1_GB}});
  EXPECT_DOUBLE_EQ(end_of(both_ways(), kernel), 0.5);
}

/// Two ranks of one collective, whose flows take one and three seconds: the first holds its compute units for three, in
/// which a kernel of two seconds does one and a half.
TEST_F(Engine, ACollectiveHoldsEveryRanksUnitsUntilItsLastFlowEnds) {
  graph.add_device("other", 1);
  const LinkId fast = graph.add_link({"fast", 3_GBps}), slow = graph.add_link({"slow", 1_GBps});
  const int kernel = graph.add_operation(work(0, 2.0));
  const int here = graph.add_operation(transfer(0, 0, 0.5F), std::vector<Flow>{{graph.add_path({{fast}}), 3_GB}});
  const int there = graph.add_operation(transfer(1, 0, 0.5F), std::vector<Flow>{{graph.add_path({{slow}}), 3_GB}});
  graph.join({here, there});
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, here), 1.0, 1e-9);
  EXPECT_NEAR(end_of(timeline, there), 3.0, 1e-9);
  EXPECT_NEAR(end_of(timeline, kernel), 3.5, 1e-8);
}

TEST_F(Engine, AnOperationEndsWithItsLastFlow) {
  const LinkId a = graph.add_link({"a", 1_GBps}), b = graph.add_link({"b", 2_GBps});
  const std::vector<Flow> flows{
      {graph.add_path({{a}}), 1_GB}, {graph.add_path({{b}}), 1_GB}, {graph.add_path({{b}}), 0_B}};
  const int both = graph.add_operation(transfer(), flows), next = graph.add_operation(work(0, 1));
  graph.add_edge(both, next);
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, both), 1.0, 1e-9);
  EXPECT_NEAR(end_of(timeline, next), 2.0, 1e-9);
}

TEST_F(Engine, LongChainsOfInstantsEndAtOnce) {
  const LinkId link = graph.add_link({"link", 1_GBps});
  const PathId path = graph.add_path({{link}}), nothing = graph.add_path({});
  int last = graph.add_operation(work(0, 1.0));
  for (int i = 0; i < 200'000; ++i) {
    const int next = graph.add_operation(transfer(), std::vector<Flow>{{path, 0_B}, {nothing, 1_GB}});
    graph.add_edge(last, next);
    last = next;
  }
  EXPECT_DOUBLE_EQ(end_of(both_ways(), last), 1.0);
}

/// X is alone on 1 GB/s for 0.25 s, shares it with Y for a while, then is alone again: 1 GB each, Y from 0.25 s on.
/// X has 0.75 GB left at half rate: ends at 1.75; Y has 0.25 GB left: 2.0. The link is busy throughout.
TEST_F(Engine, ALoneFlowGoesOverToSimGridWithWhatIsLeft) {
  const LinkId link = graph.add_link({"link", 1_GBps}), own = graph.add_link({"own", 5_GBps});
  const int x = flow({own, link}, 1_GB), y = flow({link}, 1_GB, 0.25);
  const Timeline timeline = both_ways();
  EXPECT_NEAR(end_of(timeline, x), 1.75, 1e-9);
  EXPECT_NEAR(end_of(timeline, y), 2.0, 1e-9);
  ASSERT_FALSE(timeline.link_rates.empty());
  double bytes = 0, rate = 0, since = 0;
  for (const LinkRate& r : timeline.link_rates) {
    if (r.link != own) continue;
    bytes += rate * (r.time.value() - since);
    since = r.time.value();
    rate = r.rate.value();
  }
  EXPECT_NEAR(bytes, 1e9, 1);
  EXPECT_EQ(rate, 0);
}

/// The spans of a run do not depend on anything but the graph.
TEST_F(Engine, TwoRunsAreEqualToTheBit) {
  const LinkId link = graph.add_link({"link", 1_GBps});
  for (int i = 0; i < 50; ++i) flow({link}, Bytes(1e6 + 1e5 * (i % 7)), 1e-4 * (i % 5));
  graph.finish();
  const Timeline a = simulated(graph, kRecord), b = simulated(graph, kRecord);
  for (std::size_t i = 0; i < a.spans.size(); ++i) EXPECT_EQ(a.spans[i].end, b.spans[i].end);
  ASSERT_EQ(a.link_rates.size(), b.link_rates.size());
}

// --- what is refused ---------------------------------------------------------------------------------------------

struct Refused : Engine {
  std::string message() {
    graph.finish();
    try {
      simulated(graph);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Refused, BandwidthThatIsNotPositive) {
  graph.add_link({"spine 3", BytesPerSecond(0)});
  EXPECT_THAT(message(), HasSubstr("\"spine 3\""));
}
TEST_F(Refused, WorkThatIsNoNumber) {
  graph.add_operation(work(0, std::nan("")));
  EXPECT_THAT(message(), HasSubstr("work (operation 0"));
}
TEST_F(Refused, NegativeWork) {
  graph.add_operation(work(0, -1));
  EXPECT_THAT(message(), HasSubstr("work of -1 s"));
}
TEST_F(Refused, FlowsBeyondWhatADoubleCounts) {
  flow({graph.add_link({"link", 1_GBps})}, Bytes(std::ldexp(1.0, 53) * 1.5));
  EXPECT_THAT(message(), HasSubstr("transfer (operation 0"));
}
TEST_F(Refused, NegativeBytes) {
  flow({graph.add_link({"link", 1_GBps})}, Bytes(-5));
  EXPECT_THAT(message(), HasSubstr("-5 bytes"));
}
TEST_F(Refused, PathsOverOneLinkTwice) {
  const LinkId link = graph.add_link({"loop", 1_GBps});
  flow({link, link}, 1_GB);
  EXPECT_THAT(message(), HasSubstr("\"loop\" twice"));
}
TEST_F(Refused, PathsOfUnknownLinks) {
  flow({7}, 1_GB);
  EXPECT_THAT(message(), HasSubstr("no link 7"));
}
TEST_F(Refused, DevicesThatDoNotExist) {
  graph.add_operation(work(3, 1));
  EXPECT_THAT(message(), HasSubstr("device"));
}
TEST_F(Refused, WeightsThatAreNotPositive) {
  flow({graph.add_link({"link", 1_GBps})}, 1_GB, 0, 0);
  EXPECT_THAT(message(), HasSubstr("weight"));
}

TEST_F(Engine, RefusesAnUnfinishedGraph) {
  graph.add_operation(work(0, 1));
  EXPECT_THROW(simulate(graph), std::logic_error);  // before SimGrid is touched
}

TEST_F(Engine, RefusesASecondRunInOneProcess) {
  graph.finish();
  const std::string text = run_in_child([&]() -> std::string {
    simulate(graph);
    try {
      simulate(graph);
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  });
  EXPECT_THAT(text, HasSubstr("second simulation"));
}

}  // namespace
}  // namespace stepcast::engine_test
