#include "models/estimate/kept_parameters.hpp"

#include <algorithm>

#include "models/estimate/stage_units.hpp"
#include "models/parallelism/sharded_stage.hpp"

namespace stepcast {

namespace {

/// Of a stage's passes, the shares that gather: those that follow a forward pass of their chunk.
struct GatheringShares {
  double forward, backward;
};

GatheringShares gathering_shares(const Scenario& scenario) {
  const auto micro_batches = static_cast<double>(scenario.degrees.micro_batches);
  switch (scenario.schedule) {
    case PipelineSchedule::gpipe:
      return {1, 1 / micro_batches};
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zero_bubble:
      return {0, 1};
    case PipelineSchedule::interleaved: {
      const double in_a_row = std::min<double>(scenario.degrees.pp, micro_batches);
      return {1 - 1 / in_a_row, 1 / in_a_row};
    }
  }
  return {1, 1};
}

/// What fill and drain take differently from the other passes: a step's first forward passes gather, and of its last
/// backward passes only the last stage's may.
Seconds at_both_ends(const std::vector<KeptStage>& gathering, const GatheringShares& shares, double chunks) {
  Seconds sum = gathering.front().first;
  for (const KeptStage& stage : gathering)
    sum += ((1 - shares.forward) * stage.forward - shares.backward * stage.backward) / chunks;
  return sum + shares.backward * gathering.back().backward / chunks;
}

/// Of a stage's units, while so many stages share their links.
Seconds gathers_beside_others(const std::vector<UnitTimes>& units, double crowd) {
  Seconds sum;
  for (const UnitTimes& unit : units) sum += unit.gather_alone + std::max(0.0, crowd - 1) * unit.gather_flow;
  return sum;
}

}  // namespace

Seconds end_of_gathering_passes(const ReplicaStages& stages, const PipelineStages& pipeline, StepAccount& account) {
  const Scenario& scenario = stages.scenario();
  const GatheringShares shares = gathering_shares(scenario);
  const StageTraffic traffic{true, stages.plan().prefetch_backward, true, true};
  const double micro_batches = stages.micro_batches();
  std::vector<StageTime> times = pipeline.times();
  std::vector<KeptStage> gathering;
  StageUnits of_stages(stages, pipeline.messages_around());
  std::vector<UnitTimes> units;
  Seconds gathered, longest, slowed, filled;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    of_stages.next(s, units);
    const KeptStage& stage = gathering.emplace_back(kept_stage(units, traffic, stages.at(s).communication_slowdown));
    times[s].forward += shares.forward * stage.forward;
    times[s].backward_input += shares.backward * stage.backward;
    slowed += micro_batches * (shares.forward * stage.slowed_forward + shares.backward * stage.slowed_backward);
    // Of a micro-batch's two passes one finds its parameters whole, but for the step's first.
    const Seconds all = (micro_batches + 1) * gathers_beside_others(units, of_stages.gather_crowd(s));
    gathered += all;
    // Shared links wait for the first gather of every stage in front, which no other stage's work hides.
    longest = std::max(longest, all + filled);
    filled += stage.gathers;
  }
  const Seconds ideal = pipeline.time();
  const Seconds played = pipeline.time_of(times) + at_both_ends(gathering, shares, scenario.degrees.vpp);
  const Seconds end = std::max({ideal, played, longest});
  const Seconds stretched = slowed / static_cast<double>(stages.count());
  // A stage is kept waiting by its own gathers for no longer than they take; else by the other stages.
  const Seconds exposed =
      std::clamp(end - ideal - stretched, Seconds(0), gathered / static_cast<double>(stages.count()));
  account.stretch_computation(stretched);
  account.step().bubble += end - ideal - stretched - exposed;
  account.add_replicas(stages.plan().gather, gathered, exposed);
  return end;
}

}  // namespace stepcast
