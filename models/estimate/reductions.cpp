#include "models/estimate/reductions.hpp"

#include <algorithm>

#include "models/parallelism/sharded_stage.hpp"

namespace stepcast {

namespace {

/// Buckets start in order as their layers' gradients are ready; the backward pass slows down beside them. `across`:
/// they pass between nodes.
ReducedStage reduce_beside_backward(const std::vector<UnitTimes>& units, Seconds end, double slowdown, bool across) {
  Seconds now = end;
  for (const UnitTimes& unit : units) now -= unit.before_backward + unit.backward;
  Seconds busy = now;
  Seconds pending;  // flow time of the reductions that have been started
  Seconds met, handed;
  for (const UnitTimes& unit : units) {
    // Beside this unit's computation run the reductions of the units before it.
    const Seconds passes = unit.before_backward + unit.backward;
    const Seconds flowing = std::min(pending, busy - now);
    const Seconds slowed = slowed_by(flowing, passes, slowdown);
    // Of its chunks the first is the last whose gradients it hands on; those of the others have waited for that
    // meanwhile.
    if (unit.chunk == units.back().chunk && passes > Seconds(0)) handed += slowed * (unit.backward / passes);
    // Messages between stages and what the pass itself sends between nodes share the NICs with reductions, and take
    // longer by the time in which they meet; so do the reductions for the pass's own, while most messages on the way
    // around the stages pass other nodes' NICs.
    const auto beside = [&](Seconds work) {
      return across && work > Seconds(0) ? std::clamp(flowing / work, 0.0, 1.0) : 0;
    };
    const Seconds own = unit.backward_network * beside(passes);
    const Seconds waits = own + unit.messages * beside(unit.before_backward);
    met += waits;
    now += waits;
    busy += own;
    now += passes + slowed;
    pending = std::max(Seconds(0), pending - passes);
    pending += unit.reduce_flow;
    busy = std::max(busy, now) + unit.reduce_alone;
  }
  return {now, busy, met, handed};
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
  if (units.empty()) return {end, {}, {}, {}};
  const SynchronizationPlan& plan = stages.plan();
  if (!plan.overlap) {
    ReducedStage out{end, end, {}, {}};
    for (const UnitTimes& unit : units) out.reduced += unit.reduce_alone * stages.reductions();
    return out;
  }
  const double slowdown = stages.at(stage).communication_slowdown;
  const bool several = plan.accumulated > 0;
  const Seconds earlier = several ? slowed_by_earlier(stages, units, slowdown) : Seconds(0);
  ReducedStage out = reduce_beside_backward(units, end + earlier, slowdown, stages.job().groups.data.nodes() > 1);
  if (several) out.reduced = std::max(out.reduced, end_of_all(stages, units));
  return out;
}

}  // namespace stepcast
