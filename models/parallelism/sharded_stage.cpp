#include "models/parallelism/sharded_stage.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// What a gather loses to reductions that run all the time: shared evenly, it flows for twice as long at most, in the
/// share of their time in which they flow.
Seconds gather_beside_reductions(const UnitTimes& unit) {
  if (unit.reduce_alone <= Seconds(0)) return Seconds(0);
  return std::min(unit.contended, unit.gather_flow) * (unit.contended / unit.reduce_alone);
}

/// A gather takes links from the reductions for the share of their time in which they flow.
Seconds reduction_beside_gathers(const UnitTimes& unit) {
  if (unit.reduce_alone <= Seconds(0)) return Seconds(0);
  return unit.reduce_alone + std::min(unit.gather_flow, unit.contended) * (unit.reduce_flow / unit.reduce_alone);
}

/// Of a unit's work, that beside which its gather flows, or the next one that is like it.
Seconds beside_gather(const UnitTimes& unit, Seconds work) {
  return std::max(Seconds(0), work - (unit.gather_alone - unit.gather_flow));
}

/// A device's streams, pass after pass.
class Streams {
 public:
  Streams(const std::vector<UnitTimes>& units, const StageTraffic& traffic, double slowdown)
      : units_(units), traffic_(traffic), slowdown_(slowdown) {}

  /// One pass over the units; returns how long it takes behind the pass before it.
  Seconds pass(bool forward) {
    const Seconds begin = compute_;
    const auto count = static_cast<long>(units_.size());
    for (long i = 0; i < count; ++i) work_on(units_[static_cast<std::size_t>(forward ? count - 1 - i : i)], forward);
    if (!forward && !traffic_.reduces_beside)
      for (const UnitTimes& unit : units_) compute_ += unit.reduce_alone;
    return compute_ - begin;
  }
  [[nodiscard]] Seconds slowed() const { return slowed_; }

 private:
  void work_on(const UnitTimes& unit, bool forward) {
    const Seconds flow = forward || traffic_.in_backward ? gather(unit, forward) : Seconds(0);
    before_ = compute_;
    pending_before_ = pending_;
    const Seconds start = std::max(compute_, gather_);
    // What flows while the device waits for parameters slows nothing down, nor does a gather before it flows.
    pending_ = std::max(Seconds(0), pending_ - (start - before_));
    const Seconds work = forward ? unit.forward : unit.backward;
    const Seconds by = slowed_by(flow, beside_gather(unit, work), slowdown_) + slowed_by(pending_, work, slowdown_);
    compute_ = start + work + by;
    slowed_ += by;
    pending_ = std::max(Seconds(0), pending_ - (compute_ - start));
    if (!forward && traffic_.reduces_beside) pending_ += unit.reduce_flow;
  }

  /// Returns how long the unit's gather flows.
  Seconds gather(const UnitTimes& unit, bool forward) {
    const bool ahead = forward ? traffic_.forward_ahead : traffic_.backward_ahead;
    const Seconds begin = std::max(gather_, ahead ? before_ : compute_);
    // Gathers share links with the reductions that have been started; both hold SMs.
    const Seconds shared = lost_to_reductions(unit, begin);
    pending_ += shared;
    gather_ = begin + unit.gather_alone + shared;
    return unit.gather_flow + shared;
  }

  /// What a gather from `begin` on loses to the reductions that are under way meanwhile: until the computation so far
  /// ends, those that had been started one unit ago, and then the unit's before as well, which starts its own there.
  [[nodiscard]] Seconds lost_to_reductions(const UnitTimes& unit, Seconds begin) const {
    if (unit.gather_alone <= Seconds(0)) return Seconds(0);
    const Seconds early = std::clamp(compute_ - begin, Seconds(0), unit.gather_alone);
    const Seconds until_then = std::min(early, std::max(Seconds(0), pending_before_ - (begin - before_)));
    const Seconds most = gather_beside_reductions(unit);
    const double share = early / unit.gather_alone;
    return std::min(most * share, until_then) + std::min(most * (1 - share), pending_);
  }

  const std::vector<UnitTimes>& units_;
  StageTraffic traffic_;
  double slowdown_;
  Seconds compute_, before_, gather_;  ///< `before_`: end of the computation one unit ago
  Seconds pending_;                    ///< flow time of reductions that have been started
  Seconds pending_before_;             ///< the same one unit ago
  Seconds slowed_;                     ///< by which collectives have lengthened the computation
};

/// Of a backward pass that gathers and reduces, each takes longer for the other.
void meet_in_backward(ShardedStage& out, const std::vector<UnitTimes>& units) {
  out.beside_last = reduction_beside_gathers(units.back()) - units.back().reduce_alone;
  out.before_first = gather_beside_reductions(units.front());
  for (const UnitTimes& unit : units) {
    out.gathers += gather_beside_reductions(unit);
    out.reductions += reduction_beside_gathers(unit) - unit.reduce_alone;
  }
}

}  // namespace

Seconds slowed_by(Seconds flow, Seconds work, double slowdown) {
  return slowdown * std::clamp(flow, Seconds(0), work / (1 - slowdown));
}

ShardedStage sharded_stage(const std::vector<UnitTimes>& units, const StageTraffic& traffic, double slowdown) {
  ShardedStage out;
  if (units.empty()) return out;
  Streams streams(units, traffic, slowdown);
  out.first_gradients = streams.pass(true);
  const Seconds first = out.first_gradients + streams.pass(false);
  out.slowed_first = streams.slowed();
  out.forward = streams.pass(true);
  out.backward = streams.pass(false);
  out.slowed = streams.slowed() - out.slowed_first;
  out.lead = first - out.forward - out.backward;
  if (traffic.reduces_beside) out.last_reduction = units.back().reduce_alone;
  out.beside_end = slowed_by(units.back().gather_flow, beside_gather(units.back(), units.back().backward), slowdown);
  out.behind_last = units.back().contended;
  const double passes = traffic.in_backward ? 2 : 1;
  for (const UnitTimes& unit : units) {
    out.gathers_alone += passes * unit.gather_alone;
    out.flows += passes * unit.gather_flow + unit.contended;
    out.gathers += passes * unit.gather_alone;
    out.reductions += unit.reduce_alone;
  }
  if (traffic.in_backward && traffic.reduces_beside) meet_in_backward(out, units);
  return out;
}

KeptStage kept_stage(const std::vector<UnitTimes>& units, const StageTraffic& traffic, double slowdown) {
  KeptStage out;
  Seconds forward, backward;
  std::vector<UnitTimes> gathering = units;
  for (UnitTimes& unit : gathering) {
    out.gathers += unit.gather_alone;
    forward += unit.forward;
    backward += unit.backward;
    unit.reduce_alone = unit.reduce_flow = unit.contended = Seconds(0);
  }
  Streams streams(gathering, traffic, slowdown);
  const Seconds first = streams.pass(true), slowed_first = streams.slowed();
  const Seconds next = streams.pass(true), slowed_next = streams.slowed();
  out.first = first - next;
  out.forward = next - forward;
  out.slowed_forward = slowed_next - slowed_first;
  out.backward = streams.pass(false) - backward;
  out.slowed_backward = streams.slowed() - slowed_next;
  return out;
}

}  // namespace stepcast
