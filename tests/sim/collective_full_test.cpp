#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/collectives/algorithm_table.hpp"
#include "sim/collective/executor.hpp"
#include "sim/collective/lower_run.hpp"
#include "tests/sim/collective_machines.hpp"

namespace stepcast::collective_full_test {
namespace {

using namespace stepcast::test;

/// What a test of every operation and algorithm goes through.
struct Case {
  CollectiveKind kind;
  CollectiveAlgorithm algorithm;
};

/// Every algorithm of the table with every operation that it runs.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = [] {
    std::vector<Case> out;
    const auto table = algorithms::algorithm_table();
    for (std::size_t row = 0; row < table.size(); ++row)
      for (std::size_t i = 0; i < EnumNames<CollectiveKind>::names.size(); ++i)
        if (const auto kind = static_cast<CollectiveKind>(i); table[row].kinds.has(kind))
          out.push_back({kind, static_cast<CollectiveAlgorithm>(row)});
    return out;
  }();
  return kCases;
}

std::string name_of_case(const Case& c) {
  return std::string(name_of(c.kind)) + " " + std::string(name_of(c.algorithm));
}

TEST(CollectiveFull, EqualsTheClosedFormOnAnIdealFabric) {
  struct Shape {
    int nodes, per_node;
  };
  for (const Shape shape : {Shape{1, 2}, {1, 8}, {2, 1}, {16, 1}, {4, 2}, {4, 4}, {3, 4}, {7, 1}})
    for (const Bytes payload : {Bytes(1024), 64_MB})
      for (const Case& c : cases()) {
        const CollectiveSetting setting = ideal(shape.nodes, shape.per_node);
        CollectiveRun run = one_job(setting, c.kind, payload, c.algorithm);
        const CollectivePlan plan = plan_of(run.jobs[0], setting);
        const double expected = plan.cost.alone(setting.interconnect, shape_of(run.jobs[0], setting)).value();
        const double full = run_collectives(run, kInChild).end.value();
        EXPECT_NEAR(full / expected, 1, 1e-3)
            << name_of_case(c) << ", " << payload.value() << " B, " << shape.nodes << " x " << shape.per_node;
        run.flows = CollectiveFlows::folded;
        EXPECT_NEAR(run_collectives(run, kInChild).end.value() / expected, 1, 1e-9) << name_of_case(c);
      }
}

// Of 12 messages of 1 MB in the mean those to rank 0 are twice as large, and the other nine have 2/3 MB.
TEST(CollectiveFull, UnequalPartsKeepTheSumOfBytes) {
  CollectiveRun run = one_job(single_gpu_star(4), CollectiveKind::all_to_all, 4_MB);
  run.jobs[0].imbalance = 2;
  const CollectiveRunResult result = run_collectives(run, kInChild);
  const auto into = [&](int rank) { return result.links[2 * rank + 1].payload; };
  const auto out_of = [&](int rank) { return result.links[2 * rank].payload; };
  EXPECT_NEAR(into(0), 6e6, 1);
  EXPECT_NEAR(out_of(0), 2e6, 1);
  for (int rank = 1; rank < 4; ++rank) {
    EXPECT_NEAR(into(rank), 2e6, 1);
    EXPECT_NEAR(out_of(rank), 1e7 / 3, 1);
  }
}

// All wait for the rank that receives most, whose port is never idle.
TEST(CollectiveFull, UnequalPartsEqualTheClosedFormOnAnIdealFabric) {
  struct Shape {
    int nodes, per_node;
  };
  for (const Shape shape : {Shape{1, 8}, {16, 1}, {4, 4}, {3, 4}, {7, 1}})
    for (const double imbalance : {1.0, 1.25, 3.0, static_cast<double>(shape.nodes * shape.per_node)}) {
      const CollectiveSetting setting = ideal(shape.nodes, shape.per_node);
      CollectiveRun run = one_job(setting, CollectiveKind::all_to_all, 64_MB);
      run.jobs[0].imbalance = imbalance;
      const GroupShape group = shape_of(run.jobs[0], setting);
      const double expected = plan_of(run.jobs[0], setting).cost.alone(setting.interconnect, group).value();
      EXPECT_NEAR(run_collectives(run, kInChild).end.value() / expected, 1, 1e-3)
          << imbalance << ", " << shape.nodes << " x " << shape.per_node;
    }
}

TEST(CollectiveFull, RingOnAStarIsTheSumOfItsSteps) {
  // 64 MB over 16 ranks: 30 steps of 4 MB at 25 GB/s and 2 us: 30 * (160 + 2) us.
  const CollectiveRunResult result =
      run_collectives(one_job(single_gpu_star(16), CollectiveKind::all_reduce, 64_MB, CollectiveAlgorithm::ring));
  EXPECT_NEAR(result.end.in(1_us), 30 * 162, 1e-6);
  EXPECT_EQ(result.flows, 16 * 30);
  EXPECT_EQ(result.shared_flows, 0);
  // Each rank sends 30 sixteenths.
  EXPECT_NEAR(result.links[0].payload, 120e6, 1);
}

TEST(CollectiveFull, MeetingMessagesShareTheirLink) {
  // Two pairs of nodes in different leaves over one up-link of one NIC's rate: each message gets half of it.
  CollectiveRun run = one_job(leafy(4, 1, {2, 1}), CollectiveKind::send_recv, 25_MB);
  const CollectiveRunResult result = run_collectives(run, kInChild);
  // Ring 0->1->2->3->0: only 1->2 leaves the first leaf, so nothing meets: start 12 us, hop 4 us, 25 MB at 20 GB/s.
  EXPECT_EQ(result.shared_flows, 0);
  EXPECT_NEAR(result.end.in(1_us), 12 + 4 + 1250, 0.01);
  // In the order 0, 2, 1, 3 all four cross, two each way.
  run.jobs[0].ranks = {0, 2, 1, 3};
  const CollectiveRunResult scattered = run_collectives(run, kInChild);
  EXPECT_GT(scattered.shared_flows, 0);
  EXPECT_NEAR(scattered.end.in(1_us), 12 + 4 + 2500, 0.01);
}

TEST(CollectiveFull, OneRankOfANodeSendsToTheNext) {
  // Nodes 0 and 1 on one leaf, whose up-link has one NIC's rate: 3 to 4 stays below it, 7 to 8 has it to itself.
  CollectiveRun run = one_job(leafy(4, 4, {2, 1}), CollectiveKind::send_recv, 25_MB);
  const CollectiveRunResult full = run_collectives(run, kInChild);
  EXPECT_EQ(full.flows, 4);
  EXPECT_EQ(full.shared_flows, 0);
  EXPECT_NEAR(full.end.in(1_us), 12 + 4 + 1250, 0.01);
  run.flows = CollectiveFlows::folded;
  EXPECT_NEAR(run_collectives(run, kInChild).end.in(1_us), full.end.in(1_us), 0.01);
}

TEST(CollectiveFull, ClockAndSimgridAgree) {
  std::vector<CollectiveRun> runs;
  runs.push_back(one_job(ideal(4, 4), CollectiveKind::all_reduce, 8_MB, CollectiveAlgorithm::ring));
  runs.push_back(one_job(leafy(8, 2, {2, 1}), CollectiveKind::all_to_all, 8_MB));
  runs.push_back(one_job(leafy(8, 2, {2, 2, true}), CollectiveKind::all_reduce, 8_MB, CollectiveAlgorithm::ring));
  runs.back().conditions.jitter = 20_us;
  runs.push_back(one_job(leafy(16, 1, {4, 2}), CollectiveKind::all_reduce, 8_MB, CollectiveAlgorithm::tree));
  runs.back().conditions.background.push_back({0, 5, 100_MB, 30_us});
  for (const CollectiveRun& run : runs) {
    SCOPED_TRACE(name_of(run.jobs[0].algorithm));
    const FlowProgram program = lower_run(run, run.seed);
    const ProgramResult mixed = run_in_test_child(program);
    const ProgramResult reference = run_in_test_child(program, {.share_all = true});
    EXPECT_NEAR(mixed.end / reference.end, 1, 1e-9);
    if (run.jobs[0].algorithm == CollectiveAlgorithm::tree) {
      // A node that has one neighbour in one half of the double tree has two or more in the other, and all of a stream
      // begins at once: 15 edges × 2 halves × 2 directions and the background all meet another at some NIC.
      EXPECT_EQ(mixed.shared_flows, 15 * 2 * 2 + 1);
      EXPECT_EQ(reference.shared_flows, 15 * 2 * 2 + 1);
    } else {
      EXPECT_LT(mixed.shared_flows, reference.shared_flows);
    }
    for (std::size_t rank = 0; rank < mixed.rank_ends[0].size(); ++rank)
      EXPECT_NEAR(mixed.rank_ends[0][rank] / reference.rank_ends[0][rank], 1, 1e-6) << rank;
  }
}

// Messages that are alike are one flow of SimGrid; where peaks are recorded, each keeps a flow over all of its links.
TEST(CollectiveFull, EqualMessagesAsOneFlowChangeNothing) {
  std::vector<CollectiveRun> runs;
  const auto ring = [](const Leaves& leaves) {
    // Dealt to the leaves in turn, so that all members of a leaf send to the same other leaf: 7 on each of 3.
    CollectiveRun run = one_job(leafy(21, 1, leaves), CollectiveKind::all_reduce, 21_MB, CollectiveAlgorithm::ring);
    for (int place = 0; place < 21; ++place) run.jobs[0].ranks.push_back(place % 3 * 7 + place / 3);
    return run;
  };
  runs.push_back(ring({7, 2}));
  runs.push_back(ring({7, 2}));
  runs.back().conditions.slow_ranks.push_back({9, 0.5});  // it is not like the other six of its leaf
  runs.push_back(ring({7, 2}));
  runs.back().conditions.jitter = 100_us;
  runs.push_back(ring({7, 2}));
  runs.back().conditions.background.push_back({0, 8, 200_MB, 300_us});  // it comes and goes in between
  runs.push_back(ring({7, 4, true}));
  for (const CollectiveRun& run : runs) {
    const FlowProgram program = lower_run(run, run.seed);
    const ProgramResult together = run_in_test_child(program);
    const ProgramResult apart = run_in_test_child(program, {.record_peaks = true});
    EXPECT_GT(together.shared_flows, 0);
    EXPECT_EQ(together.flows, apart.flows);
    for (std::size_t job = 0; job < together.rank_ends.size(); ++job)
      for (std::size_t rank = 0; rank < together.rank_ends[job].size(); ++rank)
        EXPECT_NEAR(together.rank_ends[job][rank] / apart.rank_ends[job][rank], 1, 1e-7) << job << ", rank " << rank;
    for (std::size_t link = 0; link < together.links.size(); ++link)
      EXPECT_NEAR(together.links[link].bytes, apart.links[link].bytes, 1e-6 * apart.links[link].bytes) << link;
  }
}

// A link of one of seven alike fails while they are one flow: it goes another way, the others go on.
TEST(CollectiveFull, OneOfEqualMessagesFailsAlone) {
  FlowProgram program;
  program.links = {10e9, 5e9, 5e9};  // shared; two ways of lane 0
  ProgramPath direct, detour, other;
  direct.links = {0, 1};
  direct.detour = 1;
  detour.links = {2};
  other.links = {0};
  other.rate_limit = 5e9;
  program.paths = {direct, detour, other};
  ProgramJob job;
  job.ranks = 4;
  job.begin.assign(4, 0.0);
  ProgramPhase phase;
  phase.kind = ProgramKind::streamed;
  phase.lanes = {{0, 0, 1, 1e9, 1e9}, {2, 1, 2, 1e9, 1e9}, {2, 2, 3, 1e9, 1e9}, {2, 3, 0, 1e9, 1e9}};
  phase.first_lane = {0, 1, 2, 3, 4};
  job.phases = {phase};
  program.jobs = {job};
  program.failures = {{0.2, 1}};
  // 2.5 GB/s each for 0.2 s. Then lane 0 has 5 GB/s for its last 0.5 GB, and the others a third of 10 GB/s each.
  const ProgramResult result = run_in_test_child(program);
  EXPECT_NEAR(result.end, 0.2 + 0.5 / (10.0 / 3), 1e-9);
  EXPECT_NEAR(result.links[2].bytes, 0.5e9, 1);
  EXPECT_NEAR(result.links[1].bytes, 0.5e9, 1);
}

TEST(CollectiveFull, SlowRankHoldsUpTheRing) {
  CollectiveRun run = one_job(single_gpu_star(8), CollectiveKind::all_reduce, 8_MB, CollectiveAlgorithm::ring);
  run.conditions.slow_ranks.push_back({3, 0.5});
  // 14 steps of 1 MB: 40 + 2 us, twice as long on rank 3, whom the others wait for.
  EXPECT_NEAR(run_collectives(run, kInChild).end.in(1_us), 14 * 84, 1e-6);
  run.flows = CollectiveFlows::folded;
  EXPECT_NEAR(run_collectives(run, kInChild).end.in(1_us), 14 * 84, 1e-6);
}

TEST(CollectiveFull, SlowLinkHoldsUpTheRing) {
  CollectiveRun run = one_job(single_gpu_star(8), CollectiveKind::all_reduce, 8_MB, CollectiveAlgorithm::ring);
  run.conditions.slow_links.push_back({5, 0.25});
  EXPECT_NEAR(run_collectives(run, kInChild).end.in(1_us), 14 * (160 + 2), 1e-6);
}

TEST(CollectiveFull, LateRankDelaysAll) {
  CollectiveRun run = one_job(single_gpu_star(32), CollectiveKind::all_reduce, 8_MB, CollectiveAlgorithm::ring);
  const double on_time = run_collectives(run, kInChild).end.value();
  run.conditions.jitter = 100_us;
  const std::vector<double> late = late_arrivals(run.conditions, run.seed, 0, 32);
  EXPECT_NEAR(run_collectives(run, kInChild).end.value(), on_time + *std::max_element(late.begin(), late.end()), 1e-9);
}

TEST(CollectiveFull, ResultDependsOnTheSeedAlone) {
  CollectiveRun run = one_job(leafy(16, 2, {4, 3, true}), CollectiveKind::all_reduce, 4_MB, CollectiveAlgorithm::ring);
  run.conditions.jitter = 10_us;
  const auto text = [&] { return to_json(run_in_test_child(lower_run(run, run.seed))).dump(); };
  const std::string first = text();
  EXPECT_EQ(text(), first);
  run.seed = 2;
  EXPECT_NE(text(), first);
}

TEST(CollectiveFull, ProgramsSurviveTheWayToTheWorker) {
  CollectiveRun run =
      one_job(leafy(4, 2, {2, 1, true}), CollectiveKind::all_reduce, 4_MB, CollectiveAlgorithm::hierarchical);
  run.conditions.jitter = 3_us;
  run.conditions.slow_ranks.push_back({1, 0.7});
  const FlowProgram program = lower_run(run, 7);
  const Json message = to_json(program);
  EXPECT_EQ(to_json(program_from_json(Json::parse(message.dump()))), message);
  EXPECT_EQ(run_in_worker(program).end, run_in_test_child(program).end);
}

}  // namespace
}  // namespace stepcast::collective_full_test
