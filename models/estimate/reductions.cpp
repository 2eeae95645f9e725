#include "models/estimate/reductions.hpp"

#include <algorithm>

#include "models/parallelism/sharded_stage.hpp"

namespace stepcast {

namespace {

/// Buckets start in order as their layers' gradients are ready; the backward pass slows down beside them.
ReducedStage reduce_beside_backward(const std::vector<UnitTimes>& units, Seconds end, double slowdown) {
  Seconds now = end;
  for (const UnitTimes& unit : units) now -= unit.before_backward + unit.backward;
  Seconds busy = now;
  Seconds pending;  // flow time of the reductions that have been started
  for (const UnitTimes& unit : units) {
    // Beside this unit's computation run the reductions of the units before it.
    const Seconds passes = unit.before_backward + unit.backward;
    now += passes + slowed_by(std::min(pending, busy - now), passes, slowdown);
    pending = std::max(Seconds(0), pending - passes);
    pending += unit.reduce_flow;
    busy = std::max(busy, now) + unit.reduce_alone;
  }
  return {now, busy};
}

/// By how much all reductions but the last slow down the passes that they run beside.
Seconds slowed_by_earlier(const ReplicaStages& stages, const std::vector<UnitTimes>& units, double slowdown) {
  Seconds flow;
  Seconds work;
  for (const UnitTimes& unit : units) {
    flow += unit.reduce_flow;
    work += unit.forward + unit.backward;
  }
  const double beside = stages.micro_batches() / stages.reductions();
  return (stages.reductions() - 1) * slowed_by(flow, work * beside, slowdown);
}

/// When all reductions are done, one after another from the first gradients that are complete on.
Seconds end_of_all(const ReplicaStages& stages, const std::vector<UnitTimes>& units) {
  const double before = stages.micro_batches() / stages.reductions();
  Seconds end = units.front().backward * before;
  for (const UnitTimes& unit : units) end += unit.forward * before + unit.reduce_alone * stages.reductions();
  return end;
}

}  // namespace

ReducedStage reduce_stage(const ReplicaStages& stages, std::size_t stage, const std::vector<UnitTimes>& units,
                          Seconds end) {
  if (units.empty()) return {end, Seconds(0)};
  const SynchronizationPlan& plan = stages.plan();
  if (!plan.overlap) {
    ReducedStage out{end, end};
    for (const UnitTimes& unit : units) out.reduced += unit.reduce_alone * stages.reductions();
    return out;
  }
  const double slowdown = stages.at(stage).communication_slowdown;
  const bool several = plan.accumulated > 0;
  const Seconds earlier = several ? slowed_by_earlier(stages, units, slowdown) : Seconds(0);
  ReducedStage out = reduce_beside_backward(units, end + earlier, slowdown);
  if (several) out.reduced = std::max(out.reduced, end_of_all(stages, units));
  return out;
}

}  // namespace stepcast
