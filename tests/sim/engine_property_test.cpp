#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "sim/engine/work_clock.hpp"
#include "tests/sim/graphs.hpp"
#include "tests/sim/reference_max_min.hpp"

namespace stepcast::engine_property_test {
namespace {

using stepcast::test::ReferenceMaxMin;
using stepcast::test::simulated;

/// Everything that a random graph consists of, as plain numbers, so that RapidCheck can draw and shrink it.
struct DrawnFlow {
  std::vector<int> links;
  double weight, cap, bytes;
};
struct DrawnOperation {
  int device, kind;
  double work, slowdown;
  std::vector<DrawnFlow> flows;
  std::vector<int> before;
};
struct Drawn {
  int devices;
  std::vector<double> bandwidths;
  std::vector<DrawnOperation> operations;
};

/// Few different figures make ties likely; so do works and sizes that are multiples of each other.
template <class T>
T one_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}
int below(int n) { return *rc::gen::inRange(0, n); }

DrawnFlow draw_flow(int links, bool ties) {
  DrawnFlow flow;
  for (int l = 0; l < links; ++l)
    if (below(links) < 2) flow.links.push_back(l);
  std::reverse(flow.links.begin(), flow.links.begin() + static_cast<std::ptrdiff_t>(flow.links.size() / 2));
  flow.weight = one_of({1.0, 1.0, 2.0, 8.0, 0.3, 7.7});
  flow.cap = one_of({0.0, 0.0, 3e8, 1.7e9});
  if (flow.links.empty() && flow.cap == 0) flow.cap = 1e9;
  flow.bytes = ties ? one_of({0.0, 1e6, 2e6, 4e6}) : 1e5 + below(10'000'000) * 1.37;
  return flow;
}

Drawn draw(bool ties, int most) {
  Drawn out;
  out.devices = 1 + below(4);
  const int links = 1 + below(8);
  for (int l = 0; l < links; ++l)
    out.bandwidths.push_back(ties ? one_of({1e9, 2e9, 5e8}) : 1e8 * std::pow(10.0, below(3000) / 1000.0));
  const int operations = 1 + below(most);
  for (int i = 0; i < operations; ++i) {
    DrawnOperation operation;
    operation.device = below(out.devices);
    operation.kind = below(2);
    operation.work = ties ? one_of({0.0, 0.0, 1e-3, 2e-3}) : one_of({0.0, 1e-5, 1e-3}) * (1 + below(1000) / 300.0);
    operation.slowdown = one_of({0.0, 0.0, 0.125, 0.5});
    if (operation.kind == 1)
      for (int f = below(4); f > 0; --f) operation.flows.push_back(draw_flow(links, ties));
    if (i > 0)
      for (int e = below(3); e > 0; --e) operation.before.push_back(std::max(0, i - 1 - below(12)));
    out.operations.push_back(operation);
  }
  return out;
}

StepGraph build(const Drawn& drawn, double faster = 1) {
  StepGraph graph;
  for (int d = 0; d < drawn.devices; ++d) graph.add_device("device", 1);
  for (const double bandwidth : drawn.bandwidths) graph.add_link({"link", BytesPerSecond(bandwidth * faster)});
  for (const DrawnOperation& o : drawn.operations) {
    Operation operation = o.kind == 0 ? test::work(o.device, o.work) : test::transfer(o.device, o.work);
    operation.slowdown = static_cast<float>(o.slowdown);
    std::vector<Flow> flows;
    for (const DrawnFlow& f : o.flows)
      flows.push_back({graph.add_path({f.links, f.weight, BytesPerSecond(f.cap * faster)}), Bytes(f.bytes)});
    const int id = graph.add_operation(operation, flows);
    for (const int before : o.before) graph.add_edge(before, id);
  }
  graph.finish();
  return graph;
}

/// Each event of a chain may come an instant early: what the engine takes for one time.
constexpr double kEarliness = 2 * kInstant;

void expect_same(const Timeline& a, const Timeline& b, double relative) {
  const double instants = kEarliness * static_cast<double>(a.spans.size());
  for (std::size_t i = 0; i < a.spans.size(); ++i) {
    const double left = a.spans[i].end.value(), right = b.spans[i].end.value();
    if (std::abs(left - right) > relative * b.end.value() + instants) {
      RC_LOG() << "operation " << i << ": " << left << " s, other by " << left - right << " of " << b.end.value();
      RC_FAIL("spans differ");
    }
  }
}

/// Shown when a property fails.
std::string text_of(const StepGraph& graph) {
  std::ostringstream out;
  for (const GraphLink& link : graph.links()) out << link.bandwidth.value() << " B/s; ";
  for (std::size_t i = 0; i < graph.operations().size(); ++i) {
    const Operation& operation = graph.operations()[i];
    out << "\n"
        << i << ": device " << operation.device << ", " << name_of(operation.kind) << ", " << operation.work.value()
        << " s, slowdown " << operation.slowdown << ", after";
    for (const int before : graph.predecessors(static_cast<int>(i))) out << ' ' << before;
    for (const Flow& flow : graph.flows(operation)) {
      const GraphPath& path = graph.paths()[flow.path];
      out << "; " << flow.bytes.value() << " B, weight " << path.weight << ", cap " << path.cap.value() << ", links";
      for (const LinkId link : path.links) out << ' ' << link;
    }
  }
  return out.str();
}

RC_GTEST_PROP(EngineProperty, EqualsTheReferenceSolver, ()) {
  const StepGraph graph = build(draw(*rc::gen::arbitrary<bool>(), 60));
  RC_LOG() << text_of(graph) << "\n";
  expect_same(simulated(graph), ReferenceMaxMin(graph).run(), 1e-6);
}

RC_GTEST_PROP(EngineProperty, LoneFlowsOnTheClockChangeNothing, ()) {
  const StepGraph graph = build(draw(*rc::gen::arbitrary<bool>(), 60));
  expect_same(simulated(graph), simulated(graph, {.all_flows_in_simgrid = true}), 1e-9);
}

/// Rates recorded for the trace: no link above its capacity, and what they carry is what was to be carried.
RC_GTEST_PROP(EngineProperty, LinksKeepTheirCapacityAndLoseNoByte, ()) {
  const StepGraph graph = build(draw(*rc::gen::arbitrary<bool>(), 40));
  const Timeline timeline = simulated(graph, {.record_link_rates = true});
  const std::size_t links = graph.links().size();
  std::vector<double> wanted(links, 0), carried(links, 0), rate(links, 0), since(links, 0);
  for (const Flow& flow : graph.flows())
    for (const LinkId link : graph.paths()[flow.path].links) wanted[link] += flow.bytes.value();
  for (const LinkRate& r : timeline.link_rates) {
    RC_ASSERT(r.rate.value() <= graph.links()[r.link].bandwidth.value() * (1 + 1e-9));
    RC_ASSERT(r.time.value() >= since[r.link]);
    carried[r.link] += rate[r.link] * (r.time.value() - since[r.link]);
    rate[r.link] = r.rate.value();
    since[r.link] = r.time.value();
  }
  for (std::size_t l = 0; l < links; ++l) {
    RC_ASSERT(rate[l] == 0.0);
    RC_ASSERT(std::abs(carried[l] - wanted[l]) <= 1e-6 * wanted[l] + 10);
  }
}

/// Spans follow the edges, and the longest chain of lone durations is never beaten.
RC_GTEST_PROP(EngineProperty, NothingBeginsEarlyAndTheCriticalPathBoundsTheStep, ()) {
  const Drawn drawn = draw(*rc::gen::arbitrary<bool>(), 60);
  const StepGraph graph = build(drawn);
  const Timeline timeline = simulated(graph);
  std::vector<double> chain(graph.operations().size(), 0);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Operation& operation = graph.operations()[i];
    double begin = 0;
    for (const int before : graph.predecessors(static_cast<int>(i))) {
      RC_ASSERT(timeline.spans[i].start >= timeline.spans[before].end);
      begin = std::max(begin, chain[before]);
    }
    double longest = 0;
    for (const Flow& flow : graph.flows(operation)) {
      const GraphPath& path = graph.paths()[flow.path];
      double fastest = path.cap > BytesPerSecond(0) ? path.cap.value() : INFINITY;
      for (const LinkId link : path.links) fastest = std::min(fastest, graph.links()[link].bandwidth.value());
      longest = std::max(longest, flow.bytes.value() / fastest);
    }
    chain[i] = begin + operation.work.value() + longest;
    RC_ASSERT(timeline.spans[i].end.value() >= chain[i] * (1 - 1e-9) - kEarliness * static_cast<double>(chain.size()));
  }
  const std::vector<int> path = critical_path(graph, timeline);
  RC_ASSERT(timeline.spans[path.back()].end == timeline.end);
  RC_ASSERT(timeline.spans[path.front()].start == Seconds(0));
  for (std::size_t i = 1; i < path.size(); ++i)
    RC_ASSERT(timeline.spans[path[i]].start == timeline.spans[path[i - 1]].end);
}

/// Without latencies, work or slow-downs a step is a matter of bandwidth alone: twice the bandwidth, half the time.
RC_GTEST_PROP(EngineProperty, TwiceTheBandwidthHalvesATransferOnlyStep, ()) {
  Drawn drawn = draw(*rc::gen::arbitrary<bool>(), 40);
  for (DrawnOperation& operation : drawn.operations) operation.work = 0;
  const double once = simulated(build(drawn)).end.value(), twice = simulated(build(drawn, 2)).end.value();
  RC_ASSERT(std::abs(twice - once / 2) <= 1e-8 * once);
}

/// A pipeline of transfers in fixed order, each stream a chain: more bandwidth never slows it.
RC_GTEST_PROP(EngineProperty, MoreBandwidthIsNeverSlowerOnOneLink, ()) {
  Drawn drawn;
  drawn.devices = 2;
  drawn.bandwidths = {1e9};
  int last[2] = {-1, -1};
  for (int i = 0; i < 20; ++i) {
    const int device = below(2);
    DrawnOperation operation{device, 1, 1e-5 * below(100), 0, {{{0}, 1, 0, 1e4 * (1 + below(1000))}}, {}};
    if (last[device] >= 0) operation.before.push_back(last[device]);
    last[device] = i;
    drawn.operations.push_back(operation);
  }
  RC_ASSERT(simulated(build(drawn, 2)).end <= simulated(build(drawn)).end * (1 + 1e-9));
}

}  // namespace
}  // namespace stepcast::engine_property_test
