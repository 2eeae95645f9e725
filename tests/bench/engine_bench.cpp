// What the engine costs: building a graph, an operation, a flow that is alone and one that shares its links. Each row
// is the minimum of several runs, each in a process of its own, and its cost relative to an operation of plain work.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"
#include "sim/step_graph.hpp"

namespace {

using namespace stepcast;

constexpr int kRuns = 5;
constexpr int kStreams = 8;

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Chains on eight devices: work, and after every piece of work a flow (alone, or over a link that all share).
enum class Traffic { none, alone, shared };
StepGraph chains(int operations, Traffic traffic) {
  StepGraph graph;
  const LinkId spine = graph.add_link({"spine", 100_GBps});
  std::vector<PathId> paths;
  std::vector<int> last(kStreams, -1);
  for (int d = 0; d < kStreams; ++d) {
    graph.add_device("device", 1);
    const LinkId port = graph.add_link({"port", 25_GBps, d});
    paths.push_back(graph.add_path({traffic == Traffic::shared ? std::vector{port, spine} : std::vector{port}}));
  }
  const auto append = [&](int device, int operation) {
    if (last[device] >= 0) graph.add_edge(last[device], operation);
    last[device] = operation;
  };
  for (int i = 0; i < operations; ++i) {
    const int device = i % kStreams;
    Operation work;
    work.device = device;
    work.work = Seconds(1e-3 + 1e-6 * (i * 7919 % 101));
    append(device, graph.add_operation(work));
    if (traffic == Traffic::none) continue;
    Operation transfer;
    transfer.kind = OperationKind::send_recv;
    transfer.device = device;
    transfer.work = 5_us;
    append(device,
           graph.add_operation(transfer, std::vector<Flow>{{paths[device], Bytes(1e7 + i * 104729 % 1000003)}}));
  }
  graph.finish();
  return graph;
}

double best_of(const std::function<double()>& run) {
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i)
    best = std::min(best, std::stod(run_in_child([&] { return fmt::format("{}", run()); })));
  return best;
}

double simulation(int operations, Traffic traffic) {
  const StepGraph graph = chains(operations, traffic);
  return best_of([&] { return seconds_of([&] { simulate(graph); }); });
}

}  // namespace

int main() {
  constexpr int kMany = 100'000, kFlows = 20'000;
  const double empty = simulation(1, Traffic::none);
  const double work = (simulation(kMany, Traffic::none) - empty) / kMany;
  const double plain = simulation(kFlows, Traffic::none);
  const double alone_total = simulation(kFlows, Traffic::alone), shared_total = simulation(kFlows, Traffic::shared);
  const double built = best_of([] { return seconds_of([] { chains(100'000, Traffic::none); }); });
  fmt::print("{:<58}{:>12}{:>10}\n", "", "time", "ratio");
  const auto row = [&](std::string_view what, double microseconds, double ratio) {
    fmt::print("{:<58}{:>9.2f} us{:>10.1f}\n", what, microseconds, ratio);
  };
  row("operation of work", work * 1e6, 1);
  row("flow alone on its links (with its latency)", (alone_total - plain) / kFlows * 1e6,
      (alone_total - plain) / kFlows / work);
  row("flow of eight on a shared link (with its latency)", (shared_total - plain) / kFlows * 1e6,
      (shared_total - plain) / kFlows / work);
  fmt::print("{:<58}{:>9.2f} ms\n", "engine and platform, one operation", empty * 1e3);
  fmt::print("{:<58}{:>9.2f} ms\n", "20,000 operations of work and 20,000 lone flows", alone_total * 1e3);
  fmt::print("{:<58}{:>9.2f} ms\n", "20,000 operations of work and 20,000 contended flows", shared_total * 1e3);
  fmt::print("{:<58}{:>9.2f} ms\n", "adding and finishing a graph of 100,000 operations", built * 1e3);
}
