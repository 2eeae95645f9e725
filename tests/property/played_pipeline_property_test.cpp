#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/parallelism/played_pipeline.hpp"

namespace stepcast::played_pipeline_property_test {
namespace {

/// Every pass of every micro-batch, as docs/models/estimate.md has it: F(j, s) and B(j, s) behind what they wait for
/// and behind the pass before them on their stage.
Seconds pass_by_pass(const std::vector<StageTime>& stages, long m) {
  const auto p = static_cast<long>(stages.size());
  std::vector<std::vector<Seconds>> forward(stages.size(), std::vector<Seconds>(static_cast<std::size_t>(m)));
  auto backward = forward;
  std::vector<Seconds> now(stages.size());
  std::vector<long> forwards(stages.size()), backwards(stages.size());
  const auto at = [](auto& table, long s, long j) -> Seconds& {
    return table[static_cast<std::size_t>(s)][static_cast<std::size_t>(j)];
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (long s = 0; s < p; ++s) {
      const auto i = static_cast<std::size_t>(s);
      const StageTime& stage = stages[i];
      const long warm_up = std::min(p - s - 1, m);
      const bool goes_forward =
          forwards[i] < m && forwards[i] <= backwards[i] + warm_up - (forwards[i] < warm_up ? 1 : 0);
      if (goes_forward && (s == 0 || forwards[i - 1] > forwards[i])) {
        const Seconds arrived = s == 0 ? Seconds(0) : at(forward, s - 1, forwards[i]) + stages[i - 1].message;
        at(forward, s, forwards[i]++) = now[i] = std::max(now[i], arrived) + stage.forward;
        moved = true;
      } else if (!goes_forward && backwards[i] < m && (s == p - 1 || backwards[i + 1] > backwards[i])) {
        const Seconds arrived = s == p - 1 ? Seconds(0) : at(backward, s + 1, backwards[i]) + stage.message;
        at(backward, s, backwards[i]++) = now[i] = std::max(now[i], arrived) + stage.backward();
        moved = true;
      }
    }
  }
  return *std::max_element(now.begin(), now.end());
}

Seconds upto(int most_ms) { return Seconds(1e-3 * *rc::gen::inRange(0, most_ms + 1)); }

RC_GTEST_PROP(PlayedPipeline, TakesAsLongAsAllItsPassesOneByOne, ()) {
  std::vector<StageTime> stages(static_cast<std::size_t>(*rc::gen::inRange(1, 9)));
  const bool equal = *rc::gen::arbitrary<bool>();
  const bool far = *rc::gen::arbitrary<bool>();
  for (StageTime& stage : stages) {
    stage.forward = Seconds(1e-3) + upto(9);
    stage.backward_input = Seconds(1e-3) + upto(9);
    stage.backward_weight = upto(9);
    if (equal) stage = stages.front();
    stage.message = upto(far ? 20 : 1);
  }
  const long micro_batches = *rc::gen::inRange(1, 300);
  const double whole = pass_by_pass(stages, micro_batches).value();
  RC_ASSERT(std::abs(played_pipeline(stages, micro_batches, false).value() / whole - 1) <= 1e-9);
}

}  // namespace
}  // namespace stepcast::played_pipeline_property_test
