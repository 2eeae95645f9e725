// Building the fabric of 16,384 accelerators, and finding routes on it. Target: 0.5 s to build. Each figure is the
// minimum of several runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "models/fabric/fabric.hpp"
#include "models/fabric/metrics.hpp"
#include "models/fabric/network_switch.hpp"
#include "models/fabric/router.hpp"

namespace {

using namespace stepcast;

constexpr int kRuns = 5;
constexpr double kTargetSeconds = 0.5;

struct Case {
  const char* node;
  int nodes;
  FabricPreset preset;
  FabricDetail detail;
};
constexpr Case kCases[] = {
    {"dgx-h100", 2048, FabricPreset::rail_optimized, FabricDetail::tiers},
    {"dgx-h100", 2048, FabricPreset::rail_optimized, FabricDetail::switches},
    {"dgx-h100", 2048, FabricPreset::rail_optimized, FabricDetail::cables},
    {"dgx-h100", 2048, FabricPreset::fat_tree_3, FabricDetail::cables},
    {"dgx-h100", 2048, FabricPreset::dragonfly, FabricDetail::switches},
    {"dgx-h100", 2048, FabricPreset::dragonfly_plus, FabricDetail::switches},
    {"gb200-nvl72", 228, FabricPreset::rail_optimized, FabricDetail::cables},
    {"tpu-v4-host", 4096, FabricPreset::torus_3d, FabricDetail::switches},
};

double best_of(const std::function<void()>& body) {
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

Fabric build(const Case& c, const Catalog& catalog) {
  FabricSpec spec;
  spec.preset = c.preset;
  const Node& node = *catalog.find<Node>(c.node);
  const int nics = node.training_nics();
  const BytesPerSecond rate = node.training_bandwidth() / nics;
  Diagnostics diagnostics("bench");
  const SwitchPart* part = network_switch(spec, node.nics.front().kind, rate, catalog, "", diagnostics);
  return build_fabric(spec, node, c.nodes, nics, rate, part, catalog, c.detail);
}

/// Every device to one far away.
double route_all(const Fabric& fabric) {
  Router router(fabric, FabricRouting::ecmp);
  std::vector<int> route;
  return best_of([&] {
           for (int device = 0; device < fabric.devices(); ++device)
             router.route(device, (device + fabric.devices() / 2 + 1) % fabric.devices(), 0, route);
         }) /
         fabric.devices();
}

}  // namespace

int main() {
  const Catalog catalog = Catalog::standard({});
  fmt::print("{:<46} {:>9} {:>9} {:>8} {:>10} {:>10}\n", "fabric", "vertices", "build", "ratio", "route", "cut");
  for (const Case& c : kCases) {
    const Fabric fabric = build(c, catalog);
    const double seconds = best_of([&] { build(c, catalog); });
    const double cut = best_of([&] { static_cast<void>(bisection_bandwidth(fabric)); });
    constexpr const char* kDetails[] = {"tiers", "switches", "cables"};
    fmt::print("{:<46} {:>9} {:>6.0f} ms {:>8.2f} {:>7.2f} us {:>7.0f} ms\n",
               fmt::format("{} × {}, {}, {}", c.nodes, c.node, name_of(c.preset),
                           kDetails[static_cast<std::size_t>(c.detail)]),
               boost::num_vertices(fabric.graph()), seconds * 1e3, seconds / kTargetSeconds, route_all(fabric) * 1e6,
               cut * 1e3);
    std::fflush(stdout);
  }
}
