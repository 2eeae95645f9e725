#include "models/least_step.hpp"

#include <algorithm>
#include <vector>

#include "models/parallelism/pipeline_time.hpp"
#include "models/parallelism/schedule.hpp"

namespace stepcast {

namespace {

/// The stages' passes, nothing to wait for.
std::vector<StageTime> passes_of(const Job& job) {
  const Degrees& d = job.scenario->degrees;
  std::vector<StageTime> out(static_cast<std::size_t>(d.pp));
  for (const Chunk& chunk : job.chunks) {
    StageTime& stage = out[static_cast<std::size_t>(chunk.stage)];
    stage.forward += chunk.forward;
    stage.backward_input += chunk.backward_input;
    stage.backward_weight += chunk.backward_weight;
    stage.saved += chunk.saved;
  }
  const bool merged = job.scenario->spec.strategy.overlap_expert_parallel;
  for (int s = 0; s < d.pp; ++s) {
    const double slots =
        merged ? static_cast<double>(merged_slots(job.scenario->schedule, s, d.pp, d.vpp, d.micro_batches)) : 0.0;
    out[static_cast<std::size_t>(s)].saved *= slots / d.vpp;
  }
  return out;
}

/// Of `pipeline_time`, where messages take no time. No stage begins before those ahead of it have passed a micro-batch
/// on to it, and theirs is the last gradient.
Seconds least_pipeline_time(const Scenario& scenario, const std::vector<StageTime>& stages) {
  const auto m = static_cast<double>(scenario.degrees.micro_batches);
  const bool drains = scenario.schedule != PipelineSchedule::zero_bubble;  // or weight gradients fill the wait
  Seconds ahead, end, sum, slowest, busiest;
  for (const StageTime& stage : stages) {
    end = std::max(end, ahead + m * stage.total());
    ahead += stage.forward + (drains ? stage.backward() : Seconds(0));
    sum += stage.total();
    slowest = std::max(slowest, stage.total());
    busiest = std::max(busiest, stage.busy(m));
  }
  if (scenario.schedule == PipelineSchedule::interleaved) return busiest + (sum - slowest) / scenario.degrees.vpp;
  return end - (m * slowest - busiest);
}

}  // namespace

Seconds least_step_time(const Job& job) {
  const Scenario& scenario = *job.scenario;
  return least_pipeline_time(scenario, passes_of(job)) + job.optimizer + scenario.framework->step_overhead;
}

}  // namespace stepcast
