#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sim/collective/lower_run.hpp"
#include "tests/sim/collective_machines.hpp"

namespace stepcast::collective_folded_test {
namespace {

using namespace stepcast::test;
using K = CollectiveKind;
using A = CollectiveAlgorithm;

/// Draws runs of every sort: operation, algorithm, nodes, leaves, fabrics of the models, hashing, late and slow ranks,
/// a second job.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  CollectiveRun next() {
    const int per_node = one_of({1, 2, 4, 8});
    const K kind =
        one_of({K::all_reduce, K::all_reduce, K::all_gather, K::reduce_scatter, K::broadcast, K::all_to_all});
    const int most = kind == K::all_to_all ? 64 : 256;
    const int nodes = one_of({2, 3, 4, 6, 8, 12, 16, 24, 32});
    const int fitting = std::min(nodes, most / per_node);
    const Leaves leaves{one_of({1, 2, 4}), per_node * one_of({1, 2}), chance(0.25)};
    CollectiveRun run =
        one_job(any_setting(fitting, per_node, leaves), kind, Bytes(one_of({16e3, 1e6, 64e6})), algorithm_for(kind));
    if (kind == K::all_to_all) run.jobs[0].imbalance = one_of({1.0, 1.5, 1.0 * fitting * per_node});
    run.seed = static_cast<std::uint64_t>(one_of({1, 2, 3, 4, 5}));
    if (chance(0.2)) run.conditions.jitter = 50_us;
    if (chance(0.2)) run.conditions.slow_ranks.push_back({0, 0.5});
    if (chance(0.2)) run.conditions.slow_links.push_back({2 * per_node, 0.5});
    if (chance(0.15)) add_second(run);
    return run;
  }

 private:
  CollectiveSetting any_setting(int nodes, int per_node, const Leaves& leaves) {
    if (chance(0.3)) return ideal(nodes, per_node);
    if (chance(0.5)) return leafy(nodes, per_node, leaves);
    return on_fabric(nodes, per_node, any_fabric(nodes));
  }
  /// Tori, dragonflies, rails without a way round, sites, and switches in a ring: all of them load their links
  /// unevenly.
  FabricSpec any_fabric(int nodes) {
    using P = FabricPreset;
    FabricSpec spec;
    spec.preset = one_of({P::torus_2d, P::torus_3d, P::dragonfly, P::dragonfly_plus, P::rail_only, P::rail_optimized,
                          P::fat_tree, P::custom});
    const bool torus = spec.preset == P::torus_2d || spec.preset == P::torus_3d;
    if (!torus && spec.preset != P::custom) spec.nodes_per_leaf = one_of({2, 3});
    if (spec.preset == P::rail_only || spec.preset == P::rail_optimized) spec.pxn = chance(0.5);
    if (spec.preset == P::fat_tree) spec.wan = FabricSitesSpec{nodes > 2 ? one_of({2, 3}) : 2, kRawNic, 1_us};
    if (spec.preset != P::custom) return spec;
    const int switches = std::min(nodes, 4);
    for (int i = 0; i < switches; ++i) spec.switches.push_back({fmt::format("s{}", i)});
    for (int node = 0; node < nodes; ++node)
      spec.cables.push_back({fmt::format("node{}", node), fmt::format("s{}", node * switches / nodes), kRawNic});
    for (int i = 0; i < (switches > 2 ? switches : 1); ++i)
      spec.cables.push_back({fmt::format("s{}", i), fmt::format("s{}", (i + 1) % switches), kRawNic});
    return spec;
  }
  /// Another collective over the same ranks, dealt out backwards, or a message of somebody else's, at the same time.
  void add_second(CollectiveRun& run) {
    const int devices = run.setting.nodes * run.setting.devices_per_node;
    if (chance(0.5)) {
      run.conditions.background.push_back({0, devices - 1, Bytes(one_of({1e6, 256e6})), 20_us});
      return;
    }
    CollectiveJob other = run.jobs[0];
    other.kind = K::all_reduce;
    other.algorithm = A::ring;
    other.payload = Bytes(one_of({1e6, 64e6}));
    for (int rank = devices; rank-- > 0;) other.ranks.push_back(rank);
    run.jobs.push_back(other);
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  bool chance(double share) { return static_cast<double>(random_()) < share * 0x1p32; }
  A algorithm_for(K kind) {
    if (kind == K::all_reduce) return one_of({A::ring, A::tree, A::hierarchical, A::automatic});
    return kind == K::all_to_all ? A::direct : A::automatic;
  }
  std::mt19937 random_;
};

std::string description(const CollectiveRun& run, int number) {
  return fmt::format("case {}: {} {}, {} B, {} x {}{}{}{}", number, name_of(run.jobs[0].kind),
                     name_of(run.jobs[0].algorithm), run.jobs[0].payload.value(), run.setting.nodes,
                     run.setting.devices_per_node, run.setting.hashed ? ", hashed" : "",
                     run.conditions.jitter > Seconds(0) ? ", jittered" : "",
                     run.jobs.size() > 1 || !run.conditions.background.empty() ? ", not alone" : "");
}

TEST(CollectiveFolded, EqualsFullOverGeneratedRuns) {
  Generator generator(20261121);
  constexpr int kCases = 200;
  int random_cases = 0, outside = 0;
  for (int i = 0; i < kCases; ++i) {
    CollectiveRun run = generator.next();
    const double full = run_collectives(run, kInChild).end.value();
    run.flows = CollectiveFlows::folded;
    const CollectiveRunResult folded = run_collectives(run, kInChild);
    const double ratio = folded.end.value() / full;
    EXPECT_NEAR(ratio, 1, 0.01) << description(run, i);
    if (!folded.jobs[0].low) continue;
    ++random_cases;
    // The interval leaves out one case in ten.
    if (full < folded.jobs[0].low->value() * 0.99 || full > folded.jobs[0].high->value() * 1.01) ++outside;
  }
  EXPECT_GT(random_cases, kCases / 10);
  EXPECT_LT(outside, random_cases / 4);
}

TEST(CollectiveFolded, TwoLargeJobsThatShareUplinksEqualFull) {
  // 2 × 384 ranks and 766 steps: more messages than folding executes, so that steps are merged.
  constexpr int kNodes = 768;
  for (const Bytes second : {64_MB, 1_GB}) {
    CollectiveRun run = one_job(leafy(kNodes, 1, {96, 60}), K::all_reduce, 256_MB, A::ring);
    // Even and odd nodes, so that both rings cross the leaves' up-links.
    run.jobs[0].ranks.clear();
    for (int node = 0; node < kNodes; node += 2) run.jobs[0].ranks.push_back(node * 101 % kNodes);
    run.jobs.push_back(run.jobs[0]);
    for (int& rank : run.jobs[1].ranks) rank ^= 1;
    run.jobs[1].payload = second;
    const CollectiveRunResult full = run_collectives(run, kInChild);
    EXPECT_GT(full.shared_flows, 0);
    run.flows = CollectiveFlows::folded;
    const CollectiveRunResult folded = run_collectives(run, kInChild);
    for (std::size_t job = 0; job < 2; ++job)
      EXPECT_NEAR(folded.jobs[job].end / full.jobs[job].end, 1, 0.01) << second.value() << ", job " << job;
  }
}

/// What every run must hold to: capacities, conservation.
TEST(CollectiveProperties, NoLinkAboveItsCapacityAndAllBytesArrive) {
  Generator generator(7);
  for (int i = 0; i < 30; ++i) {
    const CollectiveRun run = generator.next();
    const FlowProgram program = lower_run(run, run.seed);
    const ProgramResult result = run_in_test_child(program, {.record_peaks = true});
    std::vector<double> sent(program.links.size(), 0);
    for (const ProgramJob& job : program.jobs)
      for (const ProgramPhase& phase : job.phases)
        for (std::size_t l = 0; l < phase.lanes.size(); ++l) {
          double times = 1;
          if (phase.kind == ProgramKind::stepwise && phase.column_of_step.empty()) times = phase.steps;
          if (!phase.column_of_step.empty()) {
            const auto slot = std::upper_bound(phase.first_lane.begin(), phase.first_lane.end(), static_cast<int>(l));
            const auto column = (slot - phase.first_lane.begin() - 1) / job.ranks;
            times = static_cast<double>(std::count(phase.column_of_step.begin(), phase.column_of_step.end(), column));
          }
          for (const int link : program.paths[phase.lanes[l].path].links) sent[link] += times * phase.lanes[l].payload;
        }
    for (std::size_t link = 0; link < program.links.size(); ++link) {
      const ProgramLinkUse& use = result.links[link];
      EXPECT_LE(use.peak, program.links[link] * (1 + 1e-9)) << description(run, i);
      EXPECT_LE(use.bytes, program.links[link] * use.busy * (1 + 1e-6) + 1) << description(run, i);
      EXPECT_NEAR(use.payload, sent[link], 1e-6 * sent[link] + 1e-6) << description(run, i);
    }
  }
}

// Where switches add and copy, a port sends S(1 + 1/p) inside the node and a NIC S/p beyond it, in place of a ring's
// 2S(p − 1)/p and 2S(k − 1)/k/p. What leaves equals what comes, for every rank alike.
TEST(CollectiveProperties, SwitchesThatAddSaveBytesByTheirFactor) {
  struct Expected {
    A algorithm;
    int nodes, per_node;
    double native, network;
  };
  const double S = 64e6;
  for (const Expected& e : {Expected{A::nvls, 1, 8, S * (1 + 1.0 / 8), 0},
                            {A::ring, 1, 8, 2 * S * 7 / 8, 0},
                            {A::collnet, 4, 1, 0, S},
                            {A::ring, 4, 1, 0, 2 * S * 3 / 4}}) {
    const CollectiveRun run = one_job(ideal(e.nodes, e.per_node), K::all_reduce, Bytes(S), e.algorithm);
    const CollectiveRunResult result = run_collectives(run, kInChild);
    const std::size_t nics = 2 * static_cast<std::size_t>(e.nodes * e.per_node);
    int ports = 0;
    for (std::size_t link = 0; link < result.links.size(); ++link) {
      const double expected = link < nics ? e.network : e.native;
      if (link >= nics && result.links[link].payload > 0) ++ports;
      if (link < nics || result.links[link].payload > 0) {
        EXPECT_NEAR(result.links[link].payload, expected, 1e-6 * S) << name_of(e.algorithm) << ", link " << link;
      }
    }
    EXPECT_EQ(ports, e.native > 0 ? static_cast<int>(nics) : 0) << name_of(e.algorithm);
  }
}

TEST(CollectiveProperties, MoreBandwidthIsNeverSlower) {
  Generator generator(11);
  for (int i = 0; i < 30; ++i) {
    CollectiveRun run = generator.next();
    if (run.jobs[0].algorithm == A::automatic) run.jobs[0].algorithm = A::ring;
    const CollectiveRunResult slow = run_collectives(run, kInChild);
    FlowProgram faster = lower_run(run, run.seed);
    for (double& link : faster.links) link *= 2;
    for (ProgramPath& path : faster.paths) path.rate_limit *= 2;
    const double fast = run_in_test_child(faster).end;
    // Where messages meet, one that is faster may meet others later.
    EXPECT_LE(fast, slow.end.value() * (slow.shared_flows == 0 ? 1 + 1e-12 : 1.01)) << description(run, i);
  }
}

TEST(CollectiveProperties, EqualRanksMayChangePlaces) {
  CollectiveRun run = one_job(ideal(8, 1), K::all_reduce, 8_MB, A::ring);
  const double ordered = run_collectives(run, kInChild).end.value();
  run.jobs[0].ranks = {3, 1, 7, 0, 2, 6, 4, 5};
  for (const A algorithm : {A::ring, A::tree, A::recursive_doubling}) {
    run.jobs[0].algorithm = algorithm;
    const double permuted = run_collectives(run, kInChild).end.value();
    CollectiveRun plain = run;
    plain.jobs[0].ranks = {0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_NEAR(permuted / run_collectives(plain, kInChild).end.value(), 1, 1e-9);
  }
  EXPECT_GT(ordered, 0);
}

}  // namespace
}  // namespace stepcast::collective_folded_test
