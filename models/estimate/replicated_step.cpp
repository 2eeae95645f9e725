#include <algorithm>

#include "models/estimate/kept_parameters.hpp"
#include "models/estimate/link_queues.hpp"
#include "models/estimate/reductions.hpp"
#include "models/estimate/stage_units.hpp"
#include "models/estimate/step_end.hpp"

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

/// When a stage's reductions are ready, and how long each takes of the links that other stages use, too.
void add_reductions(LinkQueues& queues, const ReplicaStages& stages, const StageLinks& links,
                    const std::vector<UnitTimes>& units, Seconds stage_end, std::size_t stage) {
  const SynchronizationPlan& plan = stages.plan();
  for (const LinkOwner& link : links.of(stage)) {
    const double share = links.share(stage, stages.job().groups.data, link);
    if (share <= 0) continue;
    Seconds ready = stage_end;
    if (plan.overlap)
      for (const UnitTimes& unit : units) ready -= unit.before_backward + unit.backward;
    for (const UnitTimes& unit : units) {
      if (plan.overlap) ready += unit.before_backward + unit.backward;
      // Where every micro-batch's gradients are reduced, some always are ready.
      queues.add(link, plan.accumulated > 0 ? Seconds(0) : ready, unit.reduce_flow * stages.reductions() * share);
    }
  }
}

/// Gathers of a stage: how long they take, and what it waits for them.
struct StageGathers {
  Seconds all, exposed;
};

/// Gathers that arrive unit by unit under the first forward pass, which begins at `start` alone. `across`: they pass
/// between nodes.
StageGathers gathers_under_forward(const std::vector<UnitTimes>& units, Seconds start, bool across) {
  Seconds arrived, all;
  for (const UnitTimes& unit : units) all += unit.gather_alone;
  Seconds now = start, alone = start;
  // The share of so much work beside which gathers flow over the NICs from now on.
  const auto beside = [&](Seconds work) {
    return across && work > Seconds(0) ? std::clamp((all - now) / work, 0.0, 1.0) : 0;
  };
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    arrived += unit->gather_alone;
    now += unit->before_forward;
    // What they meet there takes longer, as beside reductions.
    now += unit->messages * beside(unit->before_forward);
    now = std::max(now, arrived) + unit->forward;
    const Seconds own = unit->forward_network * beside(unit->forward);
    now += own;
    arrived += own;
    all += own;
    alone += unit->before_forward + unit->forward;
  }
  return {all, now - alone};
}

void add_gathers(Gathers& gathers, const ReplicaStages& stages, const std::vector<UnitTimes>& units, Seconds start) {
  StageGathers own;
  if (stages.plan().gather_under_forward) {
    own = gathers_under_forward(units, start, stages.job().groups.shard.nodes() > 1);
  } else {
    for (const UnitTimes& unit : units) own.all += unit.gather_alone;
    own.exposed = own.all;
  }
  gathers.all += own.all;
  gathers.own += own.exposed;
  gathers.exposed = std::max(gathers.exposed, own.exposed);
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
  const Seconds ideal = pipeline.time();
  const Seconds pipeline_end = plan.kept_after_backward ? end_of_gathering_passes(stages, pipeline, account) : ideal;
  Seconds end = pipeline_end;
  Seconds reduced;
  Gathers gathers;
  SlowedStages slowed;
  LinkQueues queues;
  StageUnits of_stages(stages, pipeline.messages_around());
  std::vector<UnitTimes> units;
  std::vector<ReducedStage> of_stage;
  Seconds met;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    of_stages.next(s, units);
    const Seconds stage_end = pipeline_end - pipeline.drain_before(s);
    add_reductions(queues, stages, of_stages.links(), units, stage_end, s);
    for (const UnitTimes& unit : units) reduced += unit.reduce_alone * stages.reductions();
    of_stage.push_back(reduce_stage(stages, s, units, stage_end));
    slowed.all += of_stage.back().computed - of_stage.back().met - stage_end;
    met += of_stage.back().met;
    if (plan.gather_after_update) add_gathers(gathers, stages, units, pipeline.fill_before(s));
  }
  Seconds later;  // by which a stage's last gradients come later, as the stages behind it are slowed down
  for (std::size_t s = stages.count(); s-- > 0;) {
    const ReducedStage& stage = of_stage[s];
    const Seconds stage_end = std::max(stage.computed, stage.reduced) + later;
    if (stage_end >= end) slowed.last = stage.computed - stage.met + later - (pipeline_end - pipeline.drain_before(s));
    end = std::max(end, stage_end);
    later += stage.handed;
  }
  end = std::max(end, queues.end());
  account.add_replicas(plan.reduction, reduced + met, Seconds(0));
  add_after(account, stages, end - pipeline_end, slowed);
  if (plan.gather_after_update) {
    // Each stage waits for its own gathers, and then for the stage that gathers longest.
    const Seconds mean = gathers.own / static_cast<double>(stages.count());
    account.add_replicas(plan.gather, gathers.all, mean);
    account.step().bubble += gathers.exposed - mean;
  }
  return {ideal, end + gathers.exposed};
}

}  // namespace stepcast
