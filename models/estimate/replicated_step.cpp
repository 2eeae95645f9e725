#include <algorithm>

#include "models/estimate/reductions.hpp"
#include "models/estimate/stage_units.hpp"
#include "models/estimate/step_end.hpp"
#include "models/parallelism/shared_nics.hpp"

namespace stepcast {

namespace {

/// By how much collectives slow down the computation beside them.
struct SlowedStages {
  Seconds all;   ///< sum over the stages
  Seconds last;  ///< of the stage that ends last
};

/// Updated parameters on their way to the ranks that do not own them.
struct Gathers {
  Seconds all;      ///< sum over the stages
  Seconds own;      ///< sum over the stages of what each waits for its own
  Seconds exposed;  ///< of the stage that waits longest
};

/// When a stage's reductions are ready, and how long each takes.
void add_reductions(SharedNics& nics, const ReplicaStages& stages, const StageUnits& of_stages,
                    const std::vector<UnitTimes>& units, Seconds stage_end, std::size_t stage) {
  const double share = of_stages.shared_by_stage(stage, stages.job().groups.data);
  if (share <= 0) return;
  const SynchronizationPlan& plan = stages.plan();
  Seconds ready = stage_end;
  if (plan.overlap)
    for (const UnitTimes& unit : units) ready -= unit.backward;
  for (const UnitTimes& unit : units) {
    if (plan.overlap) ready += unit.backward;
    // Where every micro-batch's gradients are reduced, some always are ready.
    nics.add(stages.job().placement.node[stage], plan.accumulated > 0 ? Seconds(0) : ready,
             unit.reduce_flow * stages.reductions() * share);
  }
}

/// What stays of gathers that arrive unit by unit under the first forward pass.
Seconds exposed_under_forward(const std::vector<UnitTimes>& units) {
  Seconds arrived;
  Seconds now;
  Seconds work;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    arrived += unit->gather_alone;
    now = std::max(now, arrived) + unit->forward;
    work += unit->forward;
  }
  return now - work;
}

void add_gathers(Gathers& gathers, const SynchronizationPlan& plan, const std::vector<UnitTimes>& units) {
  Seconds all;
  for (const UnitTimes& unit : units) all += unit.gather_alone;
  gathers.all += all;
  const Seconds own = plan.gather_under_forward ? exposed_under_forward(units) : all;
  gathers.own += own;
  gathers.exposed = std::max(gathers.exposed, own);
}

/// What comes after the pipeline: stages compute for longer, the one that ends last waits for its own traffic, and the
/// others for that one.
void add_after(StepAccount& account, const ReplicaStages& stages, Seconds after, const SlowedStages& slowed) {
  const auto count = static_cast<double>(stages.count());
  const Seconds exposed = std::max(Seconds(0), after - slowed.last) / count;
  account.add_replicas(stages.plan().reduction, Seconds(0), exposed);
  account.stretch_computation(slowed.all / count);
  account.step().bubble += after - slowed.all / count - exposed;
}

}  // namespace

StepEnd replicated_step(const ReplicaStages& stages, const PipelineStages& pipeline, StepAccount& account) {
  const SynchronizationPlan& plan = stages.plan();
  const Seconds pipeline_end = pipeline.time();
  Seconds end = pipeline_end;
  Seconds reduced;
  Gathers gathers;
  SlowedStages slowed;
  SharedNics nics;
  StageUnits of_stages(stages);
  std::vector<UnitTimes> units;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    of_stages.next(s, units);
    const Seconds stage_end = pipeline_end - pipeline.drain_before(s);
    add_reductions(nics, stages, of_stages, units, stage_end, s);
    for (const UnitTimes& unit : units) reduced += unit.reduce_alone * stages.reductions();
    const ReducedStage stage = reduce_stage(stages, s, units, stage_end);
    slowed.all += stage.computed - stage_end;
    if (std::max(stage.computed, stage.reduced) >= end) slowed.last = stage.computed - stage_end;
    end = std::max({end, stage.computed, stage.reduced});
    add_gathers(gathers, plan, units);
  }
  end = std::max(end, nics.end());
  account.add_replicas(plan.reduction, reduced, Seconds(0));
  add_after(account, stages, end - pipeline_end, slowed);
  if (plan.gather_after_update) {
    // Each stage waits for its own gathers, and then for the stage that gathers longest.
    const Seconds mean = gathers.own / static_cast<double>(stages.count());
    account.add_replicas(plan.gather, gathers.all, mean);
    account.step().bubble += gathers.exposed - mean;
  }
  return {pipeline_end, end + gathers.exposed};
}

}  // namespace stepcast
