#include <algorithm>

#include "models/estimate/stage_units.hpp"
#include "models/estimate/step_end.hpp"
#include "models/parallelism/sharded_stage.hpp"

namespace stepcast {

namespace {

/// How each stage works with its gathers.
struct GatheringStages {
  std::vector<ShardedStage> alone;
  std::vector<StageTime> times;  ///< of the pipeline's stages, waits for gathers included
  Seconds slowed;                ///< by collectives beside the computation, over all stages and micro-batches
  Seconds gathered;              ///< on idle links, over all stages and micro-batches
};

GatheringStages gathering_stages(const ReplicaStages& stages, const PipelineStages& pipeline, StepAccount& account) {
  GatheringStages out{std::vector<ShardedStage>(stages.count()), pipeline.times(), {}, {}};
  const double micro_batches = stages.micro_batches();
  const SynchronizationPlan& plan = stages.plan();
  const StageTraffic traffic{plan.sharded_parameters || plan.gather_under_forward, plan.prefetch_backward,
                             plan.sharded_parameters, plan.overlap};
  StageUnits of_stages(stages, pipeline.messages_around());
  std::vector<UnitTimes> units;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    of_stages.next(s, units);
    const ShardedStage& stage = out.alone[s] = sharded_stage(units, traffic, stages.at(s).communication_slowdown);
    Seconds forward, backward;
    for (const UnitTimes& unit : units) {
      forward += unit.forward;
      backward += unit.backward;
    }
    out.times[s].forward += stage.forward - forward;
    out.times[s].backward_input += stage.backward - backward;
    out.slowed += stage.slowed_first + stage.slowed * (micro_batches - 1) - stage.beside_end;
    out.gathered += stage.gathers_alone * micro_batches;
    account.add_replicas(CollectiveKind::reduce_scatter, stage.reduced(micro_batches), Seconds(0));
  }
  return out;
}

/// When the last stage has computed and reduced, `ideal` at the earliest. Whatever the order, a stage takes what its
/// own traffic takes.
Seconds last_end(const ReplicaStages& stages, const PipelineStages& pipeline, const GatheringStages& gathering,
                 Seconds ideal) {
  const Seconds played = pipeline.time_of(gathering.times);
  const double micro_batches = stages.micro_batches();
  Seconds end = ideal;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    const ShardedStage& stage = gathering.alone[s];
    const Seconds compute_end = std::max(played + stage.lead - stage.beside_end, stage.gathered(micro_batches));
    const Seconds reduced =
        pipeline.before_gradients(gathering.times, s) + stage.first_gradients + stage.reduced(micro_batches);
    end = std::max({end, compute_end + stage.last_reduction, reduced});
  }
  return end;
}

/// What comes after the ideal pipeline's end: slowed computation, bubble, and exposed traffic, split as all of it is.
void add_after(StepAccount& account, Seconds after, const GatheringStages& gathering) {
  const auto count = static_cast<double>(gathering.alone.size());
  const Seconds stretched = gathering.slowed / count;
  // What slows down a stage that waits for others anyway is taken off the pipeline's bubble.
  const Seconds exposed = std::max(Seconds(0), after - stretched);
  account.stretch_computation(stretched);
  account.step().bubble += after - stretched - exposed;
  const Seconds traffic =
      account.communication(CollectiveKind::reduce_scatter, Dimension::data).total + gathering.gathered / count;
  const double gather_share = traffic > Seconds(0) ? gathering.gathered / count / traffic : 0;
  account.add_replicas(CollectiveKind::all_gather, gathering.gathered, exposed * gather_share);
  account.add_replicas(CollectiveKind::reduce_scatter, Seconds(0), exposed * (1 - gather_share));
}

}  // namespace

StepEnd sharded_step(const ReplicaStages& stages, const PipelineStages& pipeline, StepAccount& account) {
  const Seconds ideal = pipeline.time();
  const GatheringStages gathering = gathering_stages(stages, pipeline, account);
  const Seconds end = last_end(stages, pipeline, gathering, ideal);
  add_after(account, end - ideal, gathering);
  return {ideal, end};
}

}  // namespace stepcast
