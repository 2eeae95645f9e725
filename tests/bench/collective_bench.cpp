// A 64 MB ring all_reduce on a star of one-GPU hosts, every rank and message, beside the targets and beside what
// ASTRA-sim 2's congestion-aware analytical backend takes on such a machine; a contended one; and folded. Each
// row is the minimum of several runs, each in a process of its own.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/collective_run.hpp"
#include "sim/engine/run_program.hpp"
#include "sim/protocol/child_process.hpp"

namespace {

using namespace stepcast;

constexpr int kRuns = 3;

/// Wall time in a process of its own, its start included.
double seconds_in_child(const std::function<void()>& body) {
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run_in_child([&] {
      body();
      return std::string();
    });
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// One-GPU hosts under leaves of 32, up-links for half of their rate, dealt to the leaves in turn: every message of the
/// ring meets another one on its way.
CollectiveSetting oversubscribed(int nodes) {
  constexpr int kPerLeaf = 32;
  CollectiveSetting out = single_gpu_star(nodes);
  const double rate = out.nic_bandwidth.value();
  out.network = [nodes, rate](std::uint64_t) {
    const int leaves = std::max(2, nodes / kPerLeaf), first = 2 * nodes;
    NetworkLinks links;
    links.bandwidths.assign(first, rate);
    links.bandwidths.resize(first + 2 * leaves, rate * nodes / leaves / 2);
    links.route = [=](int from, int to, std::uint64_t, std::vector<int>& way) {
      way.assign({2 * from, first + 2 * (from % leaves), first + 2 * (to % leaves) + 1, 2 * to + 1});
    };
    return links;
  };
  return out;
}

CollectiveRun all_reduce(CollectiveSetting setting, CollectiveFlows flows) {
  CollectiveRun run;
  run.setting = std::move(setting);
  run.jobs.push_back({CollectiveKind::all_reduce, 64_MB, {}, CollectiveAlgorithm::ring});
  run.flows = flows;
  return run;
}

void row(const std::string& what, int ranks, double seconds, double target, double astra, double& before,
         int& smaller) {
  fmt::print("{:<34}{:>8}{:>12.4f} s", what, ranks, seconds);
  const auto ratio = [&](double to) { return to > 0 ? fmt::format("{:.2f}", seconds / to) : std::string(); };
  fmt::print("{:>11}{:>14}", ratio(target), ratio(astra));
  if (before > 0) fmt::print("{:>10.2f}", std::log(seconds / before) / std::log(static_cast<double>(ranks) / smaller));
  fmt::print("\n");
  std::fflush(stdout);
  before = seconds;
  smaller = ranks;
}

}  // namespace

int main() {
  fmt::print("{:<34}{:>8}{:>14}{:>11}{:>14}{:>10}\n", "64 MB ring all_reduce", "ranks", "time", "of target",
             "of ASTRA-sim", "exponent");
  struct Size {
    int ranks;
    double target, astra;
  };
  double before = 0;
  int smaller = 0;
  for (const Size size : {Size{64, 0.03, 0.027}, {256, 0.1, 0.24}, {1024, 1.0, 4.0}})
    row("full", size.ranks,
        seconds_in_child([&] { run_collectives(all_reduce(single_gpu_star(size.ranks), CollectiveFlows::full)); }),
        size.target, size.astra, before, smaller);
  before = 0;
  for (const int ranks : {64, 256, 1024}) {
    const auto contended = [ranks] {
      run_collectives(all_reduce(oversubscribed(ranks), CollectiveFlows::full),
                      [](const FlowProgram& program) { return run_program(program); });
    };
    row("full, 2:1 oversubscribed", ranks, seconds_in_child(contended), 0, 0, before, smaller);
  }
  before = 0;
  for (const int ranks : {64, 1024, 16384, 65536})
    row("folded", ranks,
        seconds_in_child([&] { run_collectives(all_reduce(single_gpu_star(ranks), CollectiveFlows::folded)); }), 0.005,
        0, before, smaller);
}
