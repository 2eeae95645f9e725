#include "sim/rank_graph/unit_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::unit_schedule_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(UnitSchedule, StreamsTakeWhatBecomesReadyFirst) {
  // 0 (1 s) and 1 (2 s) on streams of their own; 2 waits for 1, 3 for 0, both want stream 2: 3 is ready first.
  UnitSchedule schedule(4);
  schedule.set(0, 1_s, 0);
  schedule.set(1, 2_s, 1);
  schedule.set(2, 5_s, 2);
  schedule.set(3, 5_s, 2);
  schedule.add_edge(1, 2);
  schedule.add_edge(0, 3);
  std::vector<int> stuck;
  EXPECT_THAT(schedule.order(&stuck), ElementsAre(Pair(3, 2)));
  EXPECT_THAT(stuck, IsEmpty());
  EXPECT_EQ(schedule.end(), 11_s);
}

TEST(UnitSchedule, AUnitTakesAllItsStreamsAtOnce) {
  // Two ranks, two collectives: rank 0 could begin with B, rank 1 with A; both streams take them in one order.
  // 0 = A on rank 0 (stream 0), 1 = A on rank 1 (stream 1), 2, 3 = B; A waits for 4 (3 s), B for 5 (1 s).
  UnitSchedule schedule(6);
  for (const int operation : {0, 1, 2, 3}) schedule.set(operation, 2_s, operation % 2);
  schedule.set(4, 3_s, 2);
  schedule.set(5, 1_s, 3);
  schedule.join({0, 1});
  schedule.join({2, 3});
  schedule.add_edge(4, 0);
  schedule.add_edge(5, 3);
  std::vector<int> stuck;
  EXPECT_THAT(schedule.order(&stuck), ElementsAre(Pair(2, 0), Pair(3, 1)));
  EXPECT_EQ(schedule.end(), 5_s);
}

TEST(UnitSchedule, NamesWhatCanNeverBegin) {
  // Rank 0 meets A before B, rank 1 B before A: neither collective can ever begin.
  UnitSchedule schedule(4);
  schedule.join({0, 1});
  schedule.join({2, 3});
  schedule.add_edge(0, 2);
  schedule.add_edge(3, 1);
  std::vector<int> stuck;
  schedule.order(&stuck);
  EXPECT_THAT(stuck, ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace stepcast::unit_schedule_test
