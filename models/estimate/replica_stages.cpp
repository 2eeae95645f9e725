#include "models/estimate/replica_stages.hpp"

#include "models/parallelism/schedule.hpp"

namespace stepcast {

bool ReplicaStages::alike(std::size_t a, std::size_t b) const {
  if (state(a) != state(b)) return false;
  for (std::size_t c = 0; c < job_.chunks.size(); c += count_)
    if (job_.chunks[c + a].layer_kinds != job_.chunks[c + b].layer_kinds) return false;
  return true;
}

double ReplicaStages::merged_of_chunk(int stage) const {
  if (!scenario().spec.strategy.overlap_expert_parallel) return 0;
  const Degrees& d = scenario().degrees;
  const long slots = merged_slots(scenario().schedule, stage, d.pp, d.vpp, d.micro_batches);
  return static_cast<double>(slots) / d.vpp;
}

}  // namespace stepcast
