#include "models/parallelism/pipeline_time.hpp"

#include <algorithm>
#include <cmath>

#include "models/parallelism/played_pipeline.hpp"

namespace stepcast {

namespace {

/// A stage's pass waits for its neighbour's, which waited for a pass of this stage: the longer pass and its message at
/// least. Messages meet those of the other direction for the share of the period in which these are on their way, and
/// take longer then.
Seconds interleaved_period(const std::vector<StageTime>& stages, Seconds messages, const LinkPeriod& link) {
  if (messages <= Seconds(0)) return link.both;
  Seconds longer;
  for (const StageTime& stage : stages) longer = std::max({longer, stage.forward, stage.backward()});
  const Seconds met = std::max(Seconds(0), link.both - messages);
  // period = longer + messages + met · (period − longer) / period
  const Seconds sum = longer + messages + met;
  const double apart = 4 * (met / sum) * (longer / sum);
  return std::max(link.both, sum * ((1 + std::sqrt(std::max(0.0, 1 - apart))) / 2));
}

}  // namespace

Seconds pipeline_time(PipelineSchedule schedule, const std::vector<StageTime>& stages, int chunks, long micro_batches,
                      Seconds message, const LinkPeriod& link) {
  const auto p = static_cast<double>(stages.size());
  const auto m = static_cast<double>(micro_batches);
  Seconds sum;
  Seconds forward;
  Seconds backward;
  Seconds slowest;
  Seconds busiest;
  Seconds both_ways;
  for (const StageTime& stage : stages) {
    both_ways += 2 * stage.message;
    sum += stage.total();
    forward = std::max(forward, stage.forward);
    backward = std::max(backward, stage.backward());
    slowest = std::max(slowest, stage.total());
    busiest = std::max(busiest, stage.busy(m));
  }
  const Seconds saved = m * slowest - busiest;
  const Seconds crossings = 2 * (p - 1) * message;
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return sum + crossings + (m - 1) * (std::max(forward, link.forward) + std::max(backward, link.backward));
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zero_bubble: {
      const bool split = schedule == PipelineSchedule::zero_bubble;
      const Seconds played = played_pipeline(stages, micro_batches, split) - saved;
      // What one micro-batch takes, nothing at once, says mostly that links have no say.
      if (sum + both_ways + (m - 1) * link.both <= played) return played;
      return std::max(played, played_pipeline(stages, 1, split) + (m - 1) * link.both);
    }
    case PipelineSchedule::interleaved: {
      // On the way up every chunk of the first micro-batch but the last waits for a round through all stages; on the
      // way down those of the last one do.
      const Seconds rounds = 2 * (chunks - 1) * p * message;
      // Merged passes leave no other pass for a message to travel beside: every slot waits for its neighbour's.
      const Seconds waits = saved > Seconds(0) ? m * chunks * message : Seconds(0);
      const Seconds period = micro_batches > static_cast<long>(stages.size())
                                 ? interleaved_period(stages, chunks * message, link)
                                 : link.both;
      return std::max(waits + busiest, m * period) + (sum - slowest) / chunks + crossings + rounds;
    }
  }
  return slowest;
}

}  // namespace stepcast
