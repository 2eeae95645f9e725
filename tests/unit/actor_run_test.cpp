#include "models/updates/actor_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/workload/key_values.hpp"

namespace stepcast::actor_run_test {
namespace {

using namespace literals;

/// 256 samples at once of 10 s each, steps of 128 samples that take 2 s, weights that arrive after 1 s.
ActorJob round_job(int bound) {
  ActorJob job;
  job.slots = job.copies = 256;
  job.sample = {{1, 10_s}};
  job.batch = 128;
  job.learn = 2_s;
  job.broadcast = 1_s;
  job.staleness_bound = bound;
  return job;
}

// Bound 0: generate (10 s), learn (2 s), send the weights (1 s), one after another.
TEST(Actors, OnPolicyAddsUp) {
  const ActorRun run = run_actors(round_job(0));
  EXPECT_NEAR(run.step.value(), 13, 1e-9);
  EXPECT_NEAR(run.wait.value(), 11, 1e-9);
  EXPECT_EQ(run.staleness.most, 0);
  // 128 of 256 slots work for 10 of 13 s.
  EXPECT_NEAR(run.idle, 1 - 0.5 * 10 / 13, 1e-9);
}

// A bound that never binds: 256 slots of 10 s give 25.6 samples/s, a step of 128 needs 5 s.
TEST(Actors, SlowActorsSetThePace) {
  const ActorRun run = run_actors(round_job(20));
  EXPECT_NEAR(run.step.value(), 128 / 25.6, 0.15);
  EXPECT_NEAR(run.idle, 0, 0.01);
  EXPECT_LE(run.staleness.most, 20);
  EXPECT_GT(run.staleness.mean, 0);
}

TEST(Actors, SlowLearnersSetThePace) {
  ActorJob job = round_job(20);
  job.learn = 9_s;
  const ActorRun run = run_actors(job);
  EXPECT_NEAR(run.step.value(), 9, 1e-6);
  EXPECT_NEAR(run.wait.value(), 0, 1e-6);
  // Held back to a sample every 9/128 s: actors work 5 of 9 s.
  EXPECT_NEAR(run.idle, 1 - 5.0 / 9, 0.03);
}

class Bound : public testing::TestWithParam<int> {};

TEST_P(Bound, HoldsForEverySampleWhateverTheirLengths) {
  for (const double spread : {0.0, 0.4, 1.0}) {
    ActorJob job = round_job(GetParam());
    job.spread = spread;
    EXPECT_LE(run_actors(job).staleness.most, GetParam()) << spread;
  }
}

TEST_P(Bound, LooserIsNotSlower) {
  ActorJob tight = round_job(GetParam()), loose = round_job(GetParam() + 1);
  tight.spread = loose.spread = 0.3;
  EXPECT_LE(run_actors(loose).step, 1.02 * run_actors(tight).step);
}

INSTANTIATE_TEST_SUITE_P(Actors, Bound, testing::Values(0, 1, 2, 4, 8));

// With spread 1 and bound 0 a step waits for the longest of 128 samples, several means; cut at 1.5 means it waits 15 s.
TEST(Actors, NoStepWaitsLongerThanForASampleThatIsCut) {
  ActorJob job = round_job(0);
  job.spread = 1;
  EXPECT_GT(run_actors(job).step.value(), 40);
  job.longest = 1.5;
  EXPECT_NEAR(run_actors(job).step.value(), 15 + 2 + 1, 1e-9);
  job.longest = 1000;
  EXPECT_GT(run_actors(job).step.value(), 40);
}

// Long samples hold no step up once they take the weights that arrive: 256 slots of 10 s feed a step of 128 every 5 s.
TEST(Actors, InterruptedSamplesHoldNoStepUp) {
  ActorJob job = round_job(2);
  job.spread = 1;
  const ActorRun waiting = run_actors(job);
  EXPECT_GT(waiting.step.value(), 10);
  job.interruptible = true;
  const ActorRun going_on = run_actors(job);
  EXPECT_LT(going_on.step.value(), 6.5);
  EXPECT_LE(going_on.staleness.most, 2);
  EXPECT_LT(going_on.staleness.mean, waiting.staleness.mean);
}

// Two interruptions of 1 s in the 10 s of a sample, one a step: about 256 samples in 12 s.
TEST(Actors, InterruptionsCostTheirTime) {
  ActorJob job = round_job(20);
  job.interruptible = true;
  const Seconds free = run_actors(job).step;
  job.interruption = 1_s;
  EXPECT_NEAR(run_actors(job).step / free, 1.2, 0.06);
}

// Learners of 9 s a step are behind at any bound: what is finished waits, as many steps as the bound allows.
TEST(Actors, LooseBoundsMakeTheQueueLongerAlone) {
  ActorJob job = round_job(150);
  job.learn = 9_s;
  const ActorRun near = run_actors(job);
  job.staleness_bound = 1000000;
  const ActorRun far = run_actors(job);
  EXPECT_NEAR(far.step / near.step, 1, 1e-9);
  EXPECT_NEAR(far.idle, near.idle, 0.01);
  EXPECT_NEAR(far.staleness.mean, 1000000, 20);
  EXPECT_LE(far.staleness.most, 1000000);
}

// A step of a billion samples from 256 slots of 10 s takes 1e9 / 25.6 s, whatever their lengths.
TEST(Actors, SamplesWithoutNumberAreDrawnInTurn) {
  ActorJob job = round_job(1);
  job.batch = 1000000000;
  EXPECT_NEAR(run_actors(job).step.value() / (1e9 / 25.6), 1, 0.05);
  job.spread = 0.5;
  EXPECT_NEAR(run_actors(job).step.value() / (1e9 / 25.6), 1, 0.05);
}

/// The same with copies of the model that take 2 s of reading weights, and 1 s more for each sample that shares it.
ActorJob shared_job(int bound, long on_a_copy) {
  ActorJob job = round_job(bound);
  job.copies = 16;
  job.slots = 16 * on_a_copy;
  job.sample.clear();
  for (long under_way = 1; under_way < on_a_copy; under_way *= 2)
    job.sample.push_back({static_cast<double>(under_way), Seconds(2.0 + static_cast<double>(under_way))});
  job.sample.push_back({static_cast<double>(on_a_copy), Seconds(2.0 + static_cast<double>(on_a_copy))});
  return job;
}

// 128 samples on 16 copies: 8 on each take 10 s, whether 8 or 80 have room there; 4 of room make two rounds of 6 s.
TEST(Actors, CopiesThatArePartlyFilledAreAsFastAsSmallerOnes) {
  EXPECT_NEAR(run_actors(shared_job(0, 4)).step.value(), 12 + 2 + 1, 1e-9);
  const ActorRun full = run_actors(shared_job(0, 8)), partly = run_actors(shared_job(0, 80));
  EXPECT_NEAR(full.step.value(), 10 + 2 + 1, 1e-9);
  EXPECT_NEAR(partly.step.value(), 10 + 2 + 1, 1e-9);
  EXPECT_NEAR(partly.sample.value(), 10, 1e-9);
  EXPECT_NEAR(partly.idle, 3.0 / 13, 1e-9);
  EXPECT_NEAR(partly.under_way, 128 * 10 / 13.0, 1e-6);
}

// A sample's rest may be shorter than the clock tells at that time: it ends all the same, and the run with it.
TEST(Actors, RestsThatTheClockCannotTellEnd) {
  ActorJob job;
  job.slots = job.copies = 384;
  job.sample = {{1, 128_s}};
  job.batch = 256;
  job.staleness_bound = 1;
  for (int i = 1; i <= 200; ++i) {
    job.learn = Seconds(0.37 * i);
    job.broadcast = Seconds(0.013 * i);
    // 3 samples a second at most.
    EXPECT_GE(run_actors(job).step.value(), std::max(job.learn.value(), 256 / 3.0) - 1e-6) << i;
  }
}

// Samples of half and of double the work, one copy: while both are under way each gets on at the pace of two.
TEST(Actors, WhatIsLeftGoesOnFasterWhenOthersAreThrough) {
  ActorJob job = shared_job(0, 2);
  job.copies = 1;
  job.slots = job.batch = 2;
  job.spread = 0.5;
  job.learn = job.broadcast = Seconds(0);
  const ActorRun shared = run_actors(job);
  job.sample = {{1, 4_s}};
  const ActorRun alone = run_actors(job);
  job.sample = {{1, 3_s}};
  EXPECT_LT(shared.step, alone.step);
  EXPECT_GT(shared.step, run_actors(job).step);
}

// Little: samples under way are those of a second times the seconds that one takes.
TEST(Actors, UnderWayIsRateTimesTime) {
  ActorJob job = shared_job(2, 40);
  job.spread = 0.3;
  const ActorRun run = run_actors(job);
  EXPECT_NEAR(run.under_way * run.step.value() / (128 * run.sample.value()), 1, 0.02);
  EXPECT_LT(run.under_way, 16 * 40);
}

class Room : public testing::TestWithParam<double> {};

TEST_P(Room, MoreIsNotSlower) {
  for (const int bound : {0, 1, 2, 8}) {
    Seconds last(1e9);
    for (const long room : {2, 3, 4, 6, 8, 12, 16, 32, 64}) {
      ActorJob job = shared_job(bound, room);
      job.spread = GetParam();
      const Seconds step = run_actors(job).step;
      EXPECT_LE(step, 1.02 * last) << bound << " " << room;
      last = step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Actors, Room, testing::Values(0, 0.2, 0.5));

// Weights arrive once a step, and a copy computes anew what it has under way: 8 samples of 0.2 s in a step of 10 s, 4
// in one of 12 s.
TEST(Actors, InterruptionsAreOfSamplesUnderWay) {
  for (const auto& [room, step] : {std::pair{8, 10 + 8 * 0.2}, std::pair{4, 12 + 4 * 0.2}}) {
    ActorJob job = shared_job(20, room);
    job.interruptible = true;
    job.interruption = 0.2_s;
    EXPECT_NEAR(run_actors(job).step.value(), step, 0.3) << room;
  }
}

TEST(Actors, SameSeedSameFigures) {
  ActorJob job = round_job(2);
  job.spread = 0.5;
  EXPECT_EQ(run_actors(job).step, run_actors(job).step);
  const ActorRun one = run_actors(job);
  job.seed = 2;
  EXPECT_NE(one.step, run_actors(job).step);
}

// Llama 3 70B: 80 layers × 8 heads × (128 + 128) × 2 bytes = 328 kB a token.
TEST(KeyValues, AreThoseOfAllLayers) {
  Diagnostics diagnostics("");
  const auto model = find_model("llama3-70b", "", diagnostics);
  ASSERT_TRUE(model);
  EXPECT_EQ(key_value_bytes(*model->transformer, 2), 80 * 8 * 256 * 2);
  // DeepSeek-V3's latent: 61 × (512 + 64) × 2.
  const auto latent = find_model("deepseek-v3", "", diagnostics);
  ASSERT_TRUE(latent);
  EXPECT_EQ(key_value_bytes(*latent->transformer, 2), 61 * 576 * 2);
}

}  // namespace
}  // namespace stepcast::actor_run_test
