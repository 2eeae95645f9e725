#include "models/parallelism/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stepcast {
namespace {

struct Times {
  double forward, input, weight;
};

/// Plays the programs of all ranks with free communication; returns when the last slot ends, or −1 if they wait for
/// each other for ever.
double play(PipelineSchedule schedule, int stages, int chunks, int micro_batches, Times times) {
  std::vector<std::vector<Slot>> programs;
  for (int s = 0; s < stages; ++s) programs.push_back(pipeline_order(schedule, s, stages, chunks, micro_batches));
  std::map<std::tuple<bool, int, int>, double> done;  // (forward, chunk of the model, micro-batch)
  std::vector<std::size_t> next(programs.size(), 0);
  std::vector<double> now(programs.size(), 0);
  const int last_chunk = stages * chunks - 1;
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < stages; ++s) {
      while (next[s] < programs[s].size()) {
        const Slot& slot = programs[s][next[s]];
        const int chunk = slot.chunk * stages + s;
        double ready = 0;
        const auto wait_for = [&](bool forward, int c) {
          const auto it = done.find({forward, c, slot.micro_batch});
          if (it == done.end()) return false;
          ready = std::max(ready, it->second);
          return true;
        };
        bool possible = true;
        if (slot.phase == Phase::forward) {
          possible = chunk == 0 || wait_for(true, chunk - 1);
        } else if (slot.phase != Phase::backward_weight) {
          possible = wait_for(true, chunk) && (chunk == last_chunk || wait_for(false, chunk + 1));
        }
        if (!possible) break;
        const double length = slot.phase == Phase::forward          ? times.forward
                              : slot.phase == Phase::backward       ? times.input + times.weight
                              : slot.phase == Phase::backward_input ? times.input
                                                                    : times.weight;
        now[s] = std::max(now[s], ready) + length;
        if (slot.phase == Phase::forward) done[{true, chunk, slot.micro_batch}] = now[s];
        if (slot.phase == Phase::backward || slot.phase == Phase::backward_input)
          done[{false, chunk, slot.micro_batch}] = now[s];
        ++next[s];
        progress = true;
      }
    }
  }
  for (int s = 0; s < stages; ++s)
    if (next[s] < programs[s].size()) return -1;
  return *std::max_element(now.begin(), now.end());
}

struct Case {
  PipelineSchedule schedule;
  int stages, chunks, micro_batches;
};

class PipelineOrder : public testing::TestWithParam<Case> {};

TEST_P(PipelineOrder, DoesEveryMicroBatchOfEveryChunkOnce) {
  const auto& c = GetParam();
  for (int stage = 0; stage < c.stages; ++stage) {
    std::map<Phase, std::set<std::pair<int, int>>> seen;
    for (const Slot& slot : pipeline_order(c.schedule, stage, c.stages, c.chunks, c.micro_batches))
      EXPECT_TRUE(seen[slot.phase].emplace(slot.chunk, slot.micro_batch).second);
    const auto all = static_cast<std::size_t>(c.chunks) * static_cast<std::size_t>(c.micro_batches);
    EXPECT_EQ(seen[Phase::forward].size(), all);
    if (c.schedule == PipelineSchedule::zero_bubble) {
      EXPECT_EQ(seen[Phase::backward_input].size(), all);
      EXPECT_EQ(seen[Phase::backward_weight].size(), all);
    } else {
      EXPECT_EQ(seen[Phase::backward].size(), all);
    }
  }
}

TEST_P(PipelineOrder, RunsToItsEnd) {
  const auto& c = GetParam();
  EXPECT_GT(play(c.schedule, c.stages, c.chunks, c.micro_batches, {1, 1, 1}), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PipelineOrder,
    testing::Values(Case{PipelineSchedule::gpipe, 1, 1, 3}, Case{PipelineSchedule::gpipe, 4, 1, 2},
                    Case{PipelineSchedule::one_f_one_b, 1, 1, 1}, Case{PipelineSchedule::one_f_one_b, 8, 1, 3},
                    Case{PipelineSchedule::one_f_one_b, 4, 1, 16}, Case{PipelineSchedule::interleaved, 4, 2, 4},
                    Case{PipelineSchedule::interleaved, 4, 3, 16}, Case{PipelineSchedule::interleaved, 2, 2, 8},
                    Case{PipelineSchedule::zero_bubble, 4, 1, 8}, Case{PipelineSchedule::zero_bubble, 8, 1, 3}));

// (m + p − 1)·(f + b): Huang et al. 2019; the bubble is (p − 1)/m of the work.
TEST(PipelineTime, GpipeAndOneForwardOneBackwardHaveTheSameBubble) {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
    EXPECT_DOUBLE_EQ(play(schedule, 4, 1, 16, {1, 1, 1}), (16 + 4 - 1) * 3.0);
    EXPECT_DOUBLE_EQ(play(schedule, 8, 1, 8, {2, 1.5, 1.5}), (8 + 8 - 1) * 5.0);
    EXPECT_DOUBLE_EQ(ideal_bubble(schedule, 4, 1, 16), 3.0 / 16);
  }
}

// Narayanan et al. 2021: v chunks divide the bubble by v. Work of a rank per micro-batch is v·(f + b) here.
TEST(PipelineTime, InterleavingDividesTheBubble) {
  const double work = 16 * 3 * 3.0;
  EXPECT_DOUBLE_EQ(play(PipelineSchedule::interleaved, 4, 3, 16, {1, 1, 1}), work + 3 * 3.0);
  EXPECT_DOUBLE_EQ(ideal_bubble(PipelineSchedule::interleaved, 4, 3, 16), 3.0 / 16 / 3);
}

// Qi et al. 2023, table 2: ZB-H1 waits (p − 1)(f + b_input − b_weight), a third of 1f1b's when the three are equal.
TEST(PipelineTime, ZeroBubbleLeavesAThird) {
  EXPECT_DOUBLE_EQ(play(PipelineSchedule::zero_bubble, 4, 1, 16, {1, 1, 1}), 16 * 3.0 + 3);
  EXPECT_DOUBLE_EQ(play(PipelineSchedule::zero_bubble, 8, 1, 32, {1, 1, 1}), 32 * 3.0 + 7);
}

TEST(InFlight, IsTheDistanceToTheEndFor1f1b) {
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_EQ(most_in_flight(pipeline_order(PipelineSchedule::one_f_one_b, stage, 4, 1, 16)), 4 - stage);
  EXPECT_EQ(most_in_flight(pipeline_order(PipelineSchedule::one_f_one_b, 0, 4, 1, 2)), 2);
}

TEST(InFlight, IsEverythingForGpipe) {
  EXPECT_EQ(most_in_flight(pipeline_order(PipelineSchedule::gpipe, 3, 4, 1, 16)), 16);
}

// Korthikanti et al. 2022: p·(1 + (p − 1)/(p·v)) chunks' worth on the first stage, here in units of chunks: p·v + p
// − 1.
TEST(InFlight, InterleavingKeepsMore) {
  EXPECT_EQ(most_in_flight(pipeline_order(PipelineSchedule::interleaved, 0, 4, 3, 16)), 4 * 3 + 4 - 1);
}

// ZB-H1 keeps no more than 1f1b's first stage.
TEST(InFlight, ZeroBubbleStaysWithinOneForwardOneBackward) {
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_LE(most_in_flight(pipeline_order(PipelineSchedule::zero_bubble, stage, 4, 1, 16)), 4);
}

}  // namespace
}  // namespace stepcast
