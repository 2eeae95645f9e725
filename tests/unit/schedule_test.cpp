#include "models/parallelism/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "models/parallelism/pipeline_time.hpp"

namespace stepcast::schedule_test {
namespace {

using namespace literals;

struct Times {
  double forward, input, weight;
};

struct Case {
  PipelineSchedule schedule;
  int stages, chunks, micro_batches;
  bool merged = false;
};

double length_of(const Slot& slot, Times times) {
  const double forward = slot.forward ? times.forward : 0;
  switch (slot.phase) {
    case Phase::forward:
      return times.forward;
    case Phase::backward:
      return forward + times.input + times.weight;
    case Phase::backward_input:
      return forward + times.input;
    case Phase::backward_weight:
      return times.weight;
  }
  return 0;
}

/// When passes end: (forward, chunk of the model, micro-batch).
using Done = std::map<std::tuple<bool, int, int>, double>;

/// When a slot's passes can begin; −1 where one waits for a pass that has not been.
double ready_at(const Slot& slot, int stage, const Case& c, const Done& done) {
  const auto end_of = [&](bool forward, int chunk, int micro_batch) {
    const auto it = done.find({forward, chunk, micro_batch});
    return it == done.end() ? -1.0 : it->second;
  };
  const auto both = [](double one, double other) { return one < 0 || other < 0 ? -1.0 : std::max(one, other); };
  const auto forward_ready = [&](int chunk, int micro_batch) {
    return chunk == 0 ? 0.0 : end_of(true, chunk - 1, micro_batch);
  };
  const int chunk = slot.chunk * c.stages + stage;
  if (slot.phase == Phase::forward) return forward_ready(chunk, slot.micro_batch);
  if (slot.phase == Phase::backward_weight) return 0;
  double ready = end_of(true, chunk, slot.micro_batch);
  if (chunk != c.stages * c.chunks - 1) ready = both(ready, end_of(false, chunk + 1, slot.micro_batch));
  if (slot.forward)
    ready = both(ready, forward_ready(slot.forward->chunk * c.stages + stage, slot.forward->micro_batch));
  return ready;
}

/// Plays the programs of all ranks with free communication, each with its own times; returns when the last slot ends,
/// or −1 if they wait for each other for ever.
double play(const Case& c, const std::vector<Times>& times) {
  std::vector<std::vector<Slot>> programs;
  programs.reserve(static_cast<std::size_t>(c.stages));
  for (int s = 0; s < c.stages; ++s)
    programs.push_back(pipeline_order(c.schedule, s, c.stages, c.chunks, c.micro_batches, c.merged));
  Done done;
  std::vector<std::size_t> next(programs.size(), 0);
  std::vector<double> now(programs.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < c.stages; ++s) {
      for (; next[s] < programs[s].size(); ++next[s], progress = true) {
        const Slot& slot = programs[s][next[s]];
        const double ready = ready_at(slot, s, c, done);
        if (ready < 0) break;
        now[s] = std::max(now[s], ready) + length_of(slot, times[s]);
        if (slot.phase != Phase::backward_weight)
          done[{slot.phase == Phase::forward, slot.chunk * c.stages + s, slot.micro_batch}] = now[s];
        if (slot.forward) done[{true, slot.forward->chunk * c.stages + s, slot.forward->micro_batch}] = now[s];
      }
    }
  }
  for (int s = 0; s < c.stages; ++s)
    if (next[s] < programs[s].size()) return -1;
  return *std::max_element(now.begin(), now.end());
}

double play(PipelineSchedule schedule, int stages, int chunks, int micro_batches, Times times) {
  return play({schedule, stages, chunks, micro_batches}, std::vector<Times>(static_cast<std::size_t>(stages), times));
}

class PipelineOrder : public testing::TestWithParam<Case> {};

TEST_P(PipelineOrder, DoesEveryMicroBatchOfEveryChunkOnce) {
  const auto& c = GetParam();
  for (int stage = 0; stage < c.stages; ++stage) {
    std::map<Phase, std::set<std::pair<int, int>>> seen;
    for (const Slot& slot : pipeline_order(c.schedule, stage, c.stages, c.chunks, c.micro_batches, c.merged)) {
      EXPECT_TRUE(seen[slot.phase].emplace(slot.chunk, slot.micro_batch).second);
      if (!slot.forward) continue;
      EXPECT_TRUE(seen[Phase::forward].emplace(slot.forward->chunk, slot.forward->micro_batch).second);
    }
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
  EXPECT_GT(play(c, std::vector<Times>(static_cast<std::size_t>(c.stages), {1, 1, 1})), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PipelineOrder,
    testing::Values(Case{PipelineSchedule::gpipe, 1, 1, 3}, Case{PipelineSchedule::gpipe, 4, 1, 2},
                    Case{PipelineSchedule::one_f_one_b, 1, 1, 1}, Case{PipelineSchedule::one_f_one_b, 8, 1, 3},
                    Case{PipelineSchedule::one_f_one_b, 4, 1, 16}, Case{PipelineSchedule::interleaved, 4, 2, 4},
                    Case{PipelineSchedule::interleaved, 4, 3, 16}, Case{PipelineSchedule::interleaved, 2, 2, 8},
                    Case{PipelineSchedule::zero_bubble, 4, 1, 8}, Case{PipelineSchedule::zero_bubble, 8, 1, 3},
                    Case{PipelineSchedule::one_f_one_b, 1, 1, 4, true},
                    Case{PipelineSchedule::interleaved, 4, 3, 16, true},
                    Case{PipelineSchedule::interleaved, 4, 2, 4, true}));

// (m + p − 1)·(f + b): Huang et al. 2019; the bubble is (p − 1)/m of the work.
TEST(PipelineTime, GpipeAndOneForwardOneBackwardHaveTheSameBubble) {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
    EXPECT_DOUBLE_EQ(play(schedule, 4, 1, 16, {1, 1, 1}), (16 + 4 - 1) * 3.0);
    EXPECT_DOUBLE_EQ(play(schedule, 8, 1, 8, {2, 1.5, 1.5}), (8 + 8 - 1) * 5.0);
  }
}

// Narayanan et al. 2021: v chunks divide the bubble by v. Work of a rank per micro-batch is v·(f + b) here.
TEST(PipelineTime, InterleavingDividesTheBubble) {
  const double work = 16 * 3 * 3.0;
  EXPECT_DOUBLE_EQ(play(PipelineSchedule::interleaved, 4, 3, 16, {1, 1, 1}), work + 3 * 3.0);
}

// Qi et al. 2023, table 2: ZB-H1 waits (p − 1)(f + b_input − b_weight), a third of 1f1b's when the three are equal.
TEST(PipelineTime, ZeroBubbleLeavesAThird) {
  EXPECT_DOUBLE_EQ(play(PipelineSchedule::zero_bubble, 4, 1, 16, {1, 1, 1}), 16 * 3.0 + 3);
  EXPECT_DOUBLE_EQ(play(PipelineSchedule::zero_bubble, 8, 1, 32, {1, 1, 1}), 32 * 3.0 + 7);
}

// The first stage's forward passes of the warm-up run while the first micro-batch is on its way: 96 for four of them,
// 36 of gradients to come back, and then its own four backward passes without a break.
TEST(PipelineTime, WarmUpHidesForwardPassesOfAHeavyFirstStage) {
  const std::vector<StageTime> stages{
      {12_ms, 24_ms, 12_ms}, {4_ms, 8_ms, 4_ms}, {4_ms, 8_ms, 4_ms}, {4_ms, 8_ms, 4_ms}};
  EXPECT_NEAR(pipeline_time(PipelineSchedule::one_f_one_b, stages, 1, 4, Seconds(0)).in(1_ms), 24 + 36 + 4 * 36, 1e-9);
}

// Unequal stages: the closed form is what the order gives when it is played slot by slot.
TEST(PipelineTime, PlaysTheOrderOfUnequalStages) {
  std::mt19937 random(2028);
  for (int drawn = 0; drawn < 200; ++drawn) {
    const auto schedule = drawn % 2 == 0 ? PipelineSchedule::one_f_one_b : PipelineSchedule::zero_bubble;
    const Case c{schedule, 1 + static_cast<int>(random() % 8), 1, 1 + static_cast<int>(random() % 200)};
    std::vector<Times> times;
    std::vector<StageTime> stages;
    for (int s = 0; s < c.stages; ++s) {
      const auto layers = static_cast<double>(1 + random() % 12);
      times.push_back({layers, layers * static_cast<double>(1 + random() % 2), layers});
      stages.push_back({times[s].forward * 1_ms, times[s].input * 1_ms, times[s].weight * 1_ms, {}, {}});
    }
    const double closed = pipeline_time(schedule, stages, 1, c.micro_batches, Seconds(0)).in(1_ms);
    EXPECT_NEAR(closed / play(c, times), 1, 1e-9)
        << name_of(schedule) << ", " << c.stages << " stages, " << c.micro_batches << " micro-batches";
  }
}

// Two micro-batches over sixteen stages: both go down and up one behind the other, and one weight gradient is left.
TEST(PipelineTime, ZeroBubbleFillsTheDrainWithWhatThereIs) {
  const std::vector<StageTime> stages(16, {1_ms, 1_ms, 1_ms});
  const Seconds step = pipeline_time(PipelineSchedule::zero_bubble, stages, 1, 2, Seconds(0));
  EXPECT_NEAR(step.in(1_ms), 2 * (16 + 1) + 1, 1e-9);
}

// A link that is busy for longer than the slowest stage sets the period, whatever the schedule.
TEST(PipelineTime, ABusyLinkSetsThePeriod) {
  constexpr long kMany = 1000;
  const std::vector<StageTime> stages(4, {1_ms, 1_ms, 1_ms});
  const LinkPeriod link{4_ms, 5_ms, 9_ms};
  const auto period = [&](PipelineSchedule schedule) {
    return pipeline_time(schedule, stages, 1, kMany, 4_ms, link).in(1_ms) / kMany;
  };
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::zero_bubble})
    EXPECT_NEAR(period(schedule) / 9, 1, 0.01) << name_of(schedule);
  // Two of the period's ten milliseconds are a pass during which the messages do not meet: 2 + 4 + 5 · 8/10.
  EXPECT_NEAR(period(PipelineSchedule::interleaved), 10, 0.1);
}

// One pass goes forward alone first, and one backward alone last; all others meet.
TEST(MergedSlots, AreAllButTheWarmUpAndTheLast) {
  for (const Case& c :
       {Case{PipelineSchedule::one_f_one_b, 1, 1, 4, true}, Case{PipelineSchedule::interleaved, 4, 3, 16, true},
        Case{PipelineSchedule::interleaved, 4, 3, 4, true}, Case{PipelineSchedule::zero_bubble, 4, 1, 8, true}})
    for (int stage = 0; stage < c.stages; ++stage) {
      const std::vector<Slot> order = pipeline_order(c.schedule, stage, c.stages, c.chunks, c.micro_batches, true);
      EXPECT_EQ(std::count_if(order.begin(), order.end(), [](const Slot& slot) { return slot.forward.has_value(); }),
                merged_slots(c.schedule, stage, c.stages, c.chunks, c.micro_batches));
    }
  EXPECT_EQ(merged_slots(PipelineSchedule::one_f_one_b, 0, 1, 1, 4), 3);
  // 2·(4 − 1) + (3 − 1)·4 + 1 forward passes of 48 go first.
  EXPECT_EQ(merged_slots(PipelineSchedule::interleaved, 0, 4, 3, 16), 48 - 15);
  EXPECT_EQ(merged_slots(PipelineSchedule::gpipe, 0, 4, 1, 16), 0);
}

// The pair of a slot must not be the same micro-batch's: its backward pass would wait for itself.
TEST(MergedSlots, HoldTwoMicroBatches) {
  for (const Slot& slot : pipeline_order(PipelineSchedule::interleaved, 3, 4, 2, 16, true))
    EXPECT_FALSE(slot.forward && slot.forward->chunk == slot.chunk && slot.forward->micro_batch == slot.micro_batch);
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
}  // namespace stepcast::schedule_test
