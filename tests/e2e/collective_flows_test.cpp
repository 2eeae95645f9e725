#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/e2e/process.hpp"

namespace stepcast::collective_flows_test {
namespace {

/// Where ranks are: options of `stepcast collective`, and the numbers of ranks to choose from.
struct Place {
  std::vector<std::string> options;
  std::vector<int> ranks;
};

std::vector<std::string> set(std::initializer_list<const char*> keys) {
  std::vector<std::string> out;
  for (const char* key : keys) out.insert(out.end(), {"--set", std::string("cluster.fabric.") + key});
  return out;
}

Place place(std::vector<std::string> options, const std::vector<std::string>& more, std::vector<int> ranks) {
  options.insert(options.end(), more.begin(), more.end());
  return {std::move(options), std::move(ranks)};
}

/// Switches in a ring, or each joined to each, with as many nodes of eight NICs of 400 Gb/s as come out even.
Place switches(int count, bool ring, double trunk, int nodes) {
  Json fabric{{"preset", "custom"}, {"switches", Json::array()}, {"cables", Json::array()}};
  const auto cable = [&](const std::string& from, const std::string& to, double rate) {
    fabric["cables"].push_back({{"from", from}, {"to", to}, {"bandwidth_Gbps", rate}});
  };
  const auto name = [](int i) { return fmt::format("s{}", i); };
  for (int i = 0; i < count; ++i) fabric["switches"].push_back({{"name", name(i)}});
  for (int node = 0; node < nodes; ++node) cable(fmt::format("node{}", node), name(node * count / nodes), 400);
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b)
      if (!ring || b == a + 1 || (a == 0 && b == count - 1 && count > 2)) cable(name(a), name(b), trunk);
  return place({"--cluster", "dgx-h100", "--set", "cluster.fabric=" + fabric.dump()}, {}, {8 * nodes});
}

std::vector<Place> places() {
  std::vector<Place> out;
  for (const char* torus : {"torus-2d", "torus-3d"}) {
    out.push_back(place({"--cluster", torus}, {}, {4, 6, 9, 16, 27, 30, 64}));
    out.push_back(place({"--cluster", "tpu-v4-host", "--fabric", torus}, {}, {8, 16, 24, 64}));
    out.push_back(place({"--cluster", "tpu-v5e-host", "--fabric", torus}, {}, {16, 24, 64}));
  }
  for (const char* preset : {"fat-tree", "fat-tree-3", "dragonfly", "dragonfly-plus"})
    out.push_back(
        place({"--cluster", preset, "--oversubscription", "2"}, set({"nodes_per_leaf=4"}), {6, 9, 16, 27, 30, 64}));
  for (const char* preset : {"fat-tree", "rail-optimized", "rail-only", "dragonfly", "dragonfly-plus"}) {
    // Five nodes leave the last leaf partly filled.
    out.push_back(place({"--cluster", "dgx-h100", "--fabric", preset, "--oversubscription", "4"},
                        set({"nodes_per_leaf=2"}), {16, 40, 48, 64}));
    out.push_back(place({"--cluster", "aws-p3.16xlarge", "--fabric", preset}, set({"nodes_per_leaf=2"}), {24, 64}));
  }
  // Three of four ranks share a NIC.
  out.push_back(place({"--cluster", "summit", "--ranks-per-node", "4"}, {}, {16, 24}));
  for (const char* preset : {"rail-optimized", "rail-only"})
    out.push_back(place({"--cluster", "dgx-h100", "--fabric", preset}, set({"pxn=false"}), {16, 40, 64}));
  for (const char* wan : {R"(wan={"sites":2,"bandwidth_Gbps":100,"latency_ms":1})",
                          R"(wan={"sites":3,"bandwidth_Gbps":3200,"latency_ms":1})"})
    out.push_back(place({"--cluster", "dgx-h100"}, set({wan}), {24, 40, 48, 64}));
  for (const int nodes : {5, 8})
    for (const int count : {2, 3, 4})
      for (const bool ring : {true, false}) out.push_back(switches(count, ring, nodes == 5 ? 100 : 1600, nodes));
  return out;
}

double microseconds(const std::vector<std::string>& arguments, const char* flows) {
  std::vector<std::string> all{"collective", "--json", "--flows", flows};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Finished run = stepcast_run(all);
  if (run.code != 0) throw std::runtime_error(run.err);
  return run.json().at("rows").front().at("time_us").get<double>();
}

// Nothing is random, so representatives take what every rank and message take: over even and uneven leaves, rails
// without a way round, listed cables, tori and sites, contended or not.
TEST(CollectiveFlows, FoldedEqualsFullOverEveryFabric) {
  std::mt19937 random(20261127);
  const auto one_of = [&](const auto& choices) { return choices[random() % std::size(choices)]; };
  const std::vector<const char*> ops{"all_reduce", "all_gather", "broadcast", "all_to_all", "all_to_all", "send_recv"};
  const std::vector<const char*> sizes{"1K", "1M", "256M"};
  constexpr int kCasesOfPlace = 3;
  for (const Place& where : places())
    for (int i = 0; i < kCasesOfPlace; ++i) {
      std::vector<std::string> call{"--op",        one_of(ops), "--sizes",
                                    one_of(sizes), "--ranks",   std::to_string(one_of(where.ranks))};
      call.insert(call.end(), where.options.begin(), where.options.end());
      EXPECT_NEAR(microseconds(call, "folded") / microseconds(call, "full"), 1, 0.01)
          << fmt::format("{}", fmt::join(call, " "));
    }
}

// A raw host of a torus has two links of 25/6 GB/s along each of three axes: rings lie along all of them, both ways
// round, so a broadcast passes at 25 GB/s.
TEST(CollectiveFlows, RingsOverATorusUseAllItsLinks) {
  constexpr double kBytes = 16.0 * 1024 * 1024 * 1024;
  const std::vector<std::string> call{"--op", "broadcast", "--sizes", "16G", "--ranks", "64", "--cluster", "torus-3d"};
  EXPECT_NEAR(microseconds(call, "full") / (kBytes / 25e9 * 1e6), 1, 0.01);
}

}  // namespace
}  // namespace stepcast::collective_flows_test
