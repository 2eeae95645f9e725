#include "models/collectives/algorithm_table.hpp"

namespace stepcast {

namespace algorithms {

CollectivePhase phase_of(CollectiveKind kind, const Timed& timed, const Call& call, PhaseScope scope) {
  const CollectiveCost& cost = timed.cost;
  const AlgorithmEntry& entry = entry_of(cost.algorithm);
  CollectivePhase out{
      entry.pattern,      scope,           entry.steps(kind, call), cost.latency - timed.start, cost.native_bytes,
      cost.network_bytes, cost.native_cap, cost.network_cap};
  if (kind != CollectiveKind::send_recv || !call.crosses()) return out;
  // The whole message of the rank at a node's edge, at what it reaches of the rate of one that sends alone.
  out.pattern = MessagePattern::next;
  out.network_bytes *= call.p;
  out.network_cap *= call.p * call.network_rate / call.next_rate;
  return out;
}

}  // namespace algorithms

CollectivePlan collective_plan(CollectiveKind kind, Bytes payload, const GroupShape& group,
                               const Interconnect& interconnect, CollectiveAlgorithm algorithm,
                               CollectiveProtocol protocol, ElementWidth width, double imbalance) {
  CollectivePlan plan;
  if (group.size <= 1 || (payload <= Bytes(0) && kind != CollectiveKind::barrier)) return plan;
  const algorithms::Call call(group, interconnect, width);
  algorithms::Asked asked{kind, payload, algorithm, protocol, imbalance};
  const algorithms::Timed timed = algorithms::choose(asked, call);
  plan.cost = timed.cost;
  if (const auto phases = algorithms::entry_of(plan.cost.algorithm).phases) {
    if (kind == CollectiveKind::barrier) asked.payload = algorithms::kBarrierPayload;
    phases(plan, asked, call);
    return plan;
  }
  plan.start = timed.start;
  plan.phases.push_back(algorithms::phase_of(kind, timed, call, PhaseScope::whole));
  if (kind == CollectiveKind::all_to_all) plan.phases.back().imbalance = imbalance;
  return plan;
}

}  // namespace stepcast
