#include "models/parallelism/pipeline_time.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {

/// Longest sequence of round trips between stage s and the last, beside the slowest stage's own work.
Seconds steady_state(const std::vector<StageTime>& stages, long micro_batches) {
  const auto p = static_cast<long>(stages.size());
  Seconds worst;
  Seconds work;
  Seconds slowest;
  Seconds messages;
  for (long s = p - 1; s >= 0; --s) {
    work += stages[static_cast<std::size_t>(s)].total();
    if (s < p - 1) messages += stages[static_cast<std::size_t>(s)].message;
    slowest = std::max(slowest, stages[static_cast<std::size_t>(s)].total());
    const long in_flight = p - s;
    const long rounds = (micro_batches - 1) / in_flight;
    const long rest = (micro_batches - 1) % in_flight;
    const Seconds round = work + 2.0 * messages;
    worst = std::max(worst, static_cast<double>(rounds) * round + static_cast<double>(rest) * slowest);
  }
  return std::max(worst, static_cast<double>(micro_batches - 1) * slowest);
}

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
  StageTime sum;
  StageTime most;
  Seconds slowest;
  Seconds busiest;
  for (const StageTime& stage : stages) {
    sum.forward += stage.forward;
    sum.backward_input += stage.backward_input;
    sum.backward_weight += stage.backward_weight;
    most.forward = std::max(most.forward, stage.forward);
    most.backward_input = std::max(most.backward_input, stage.backward_input);
    slowest = std::max(slowest, stage.total());
    busiest = std::max(busiest, stage.busy(m));
  }
  const Seconds saved = m * slowest - busiest;
  const Seconds crossings = 2 * (p - 1) * message;
  switch (schedule) {
    case PipelineSchedule::gpipe: {
      Seconds backward;
      for (const StageTime& stage : stages) backward = std::max(backward, stage.backward());
      return sum.total() + crossings +
             (m - 1) * (std::max(most.forward, link.forward) + std::max(backward, link.backward));
    }
    case PipelineSchedule::one_f_one_b:
      return sum.total() + crossings + std::max(steady_state(stages, micro_batches) - saved, (m - 1) * link.both);
    case PipelineSchedule::interleaved: {
      // On the way up every chunk of the first micro-batch but the last waits for a round through all stages; on the
      // way down those of the last one do.
      const Seconds rounds = 2 * (chunks - 1) * p * message;
      // Merged passes leave no other pass for a message to travel beside: every slot waits for its neighbour's.
      const Seconds waits = saved > Seconds(0) ? m * chunks * message : Seconds(0);
      const Seconds period = micro_batches > static_cast<long>(stages.size())
                                 ? interleaved_period(stages, chunks * message, link)
                                 : link.both;
      return std::max(waits + busiest, m * period) + (sum.total() - slowest) / chunks + crossings + rounds;
    }
    case PipelineSchedule::zero_bubble: {
      // Weight gradients fill the drain: a stage waits for forward + input gradient − weight gradient of the others, as
      // far as there are micro-batches to fill it with; the last one's weight gradient ends the pass.
      const double filled = std::min(p, m) - 1;
      const Seconds wait =
          std::max(Seconds(0), (sum.forward + sum.backward_input) * ((p - 1) / p) - sum.backward_weight * (filled / p));
      const Seconds period = std::max(steady_state(stages, micro_batches), (m - 1) * link.both);
      const Seconds rounds = period - (m - 1) * slowest;
      return m * slowest + wait + crossings + std::max(Seconds(0), rounds);
    }
  }
  return slowest;
}

}  // namespace stepcast
