#include "models/parallelism/sharded_passes.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// Streams of a device.
struct Clock {
  Seconds compute, before, gather, reduce;  ///< `before`: end of the computation one unit ago
  Seconds pending;                          ///< flow time of reductions that have been started
  Seconds slowed;                           ///< by which collectives have lengthened the computation
};

/// One pass over the units: parameters are gathered two units ahead, gradients reduced behind.
void pass(const std::vector<UnitTimes>& units, bool forward, const PassRules& rules, Clock& clock) {
  const auto count = static_cast<long>(units.size());
  for (long i = 0; i < count; ++i) {
    const UnitTimes& unit = units[static_cast<std::size_t>(forward ? count - 1 - i : i)];
    const bool prefetch = forward || rules.prefetch_backward;
    // Behind a backward pass, gathers and reductions share links evenly, so a gather flows for twice as long at most;
    // both hold SMs.
    const Seconds shared = forward ? Seconds(0) : std::min(unit.contended, unit.gather_flow);
    clock.gather = std::max(clock.gather, prefetch ? clock.before : clock.compute) + unit.gather_alone + shared;
    clock.before = clock.compute;
    const Seconds start = std::max(clock.compute, clock.gather);
    const Seconds work = forward ? unit.forward : unit.backward;
    const Seconds slowed =
        slowed_by(unit.gather_flow + shared, work, rules.slowdown) + slowed_by(clock.pending, work, rules.slowdown);
    clock.compute = start + work + slowed;
    clock.slowed += slowed;
    clock.pending = std::max(Seconds(0), clock.pending - (clock.compute - start));
    if (forward) continue;
    clock.pending += unit.reduce_flow + shared;
    clock.reduce = std::max(clock.reduce, clock.compute) + unit.reduce_alone;
  }
  clock.compute += forward ? rules.forward_sends : rules.backward_sends;
}

/// A gather takes links from the reductions for the share of their time in which they flow.
Seconds reduction_beside_gathers(const UnitTimes& unit) {
  if (unit.reduce_alone <= Seconds(0)) return Seconds(0);
  return unit.reduce_alone + std::min(unit.gather_flow, unit.contended) * (unit.reduce_flow / unit.reduce_alone);
}

}  // namespace

Seconds slowed_by(Seconds flow, Seconds work, double slowdown) {
  return slowdown * std::clamp(flow, Seconds(0), work / (1 - slowdown));
}

ShardedStage sharded_stage(const std::vector<UnitTimes>& units, double micro_batches, const PassRules& rules) {
  ShardedStage out;
  Clock clock;
  Seconds first;
  Seconds first_backward;
  Seconds period;
  for (int round = 0; round < 2; ++round) {
    const Clock before = clock;
    pass(units, true, rules, clock);
    if (round == 0) first_backward = clock.compute;
    pass(units, false, rules, clock);
    (round == 0 ? first : period) = clock.compute - before.compute;
    out.slowed += (clock.slowed - before.slowed) * (round == 0 ? 1 : micro_batches - 1);
    if (micro_batches < 2) break;
  }
  // Whatever the order, the links carry two gathers and one reduction of every unit and micro-batch.
  Seconds busy;
  for (const UnitTimes& unit : units) {
    busy += (2 * unit.gather_alone + unit.contended) * micro_batches;
    out.gathers += 2 * unit.gather_alone * micro_batches;
    out.reductions += reduction_beside_gathers(unit) * micro_batches;
  }
  const Seconds compute_end = std::max(first + (micro_batches - 1) * period, busy);
  out.end = std::max(compute_end + units.back().reduce_alone, first_backward + out.reductions);
  return out;
}

}  // namespace stepcast
