#include "models/parallelism/message.hpp"

#include "models/parallelism/job_collective.hpp"

namespace stepcast {

bool scatters_messages(const Job& job, int from, int to) {
  const Scenario& scenario = *job.scenario;
  // Sequence parallelism has cut the activation already.
  return scenario.framework->scatter_gather_messages && scenario.degrees.tp > 1 &&
         !scenario.spec.strategy.sequence_parallel && job.placement.crosses(from, to);
}

GroupShape message_pair(const Job& job, int from, int to) {
  const bool crosses = job.placement.crosses(from, to);
  GroupShape pair{2, crosses ? 1 : 2, crosses ? job.placement.ranks_per_node : 1, {}};
  if (crosses) job.nodes.load_message(pair, from, to);
  return pair;
}

Message stage_message(const Job& job, int from, int to, Bytes bytes) {
  Message message;
  message.pair = message_pair(job, from, to);
  const bool scatter = scatters_messages(job, from, to);
  const Bytes sent = scatter ? bytes / job.scenario->degrees.tp : bytes;
  message.cost = job_collective(CollectiveKind::send_recv, sent, message.pair, job);
  if (scatter) {
    const CollectiveCost gather = job_collective(CollectiveKind::all_gather, bytes, job.groups.tensor, job);
    message.cost.latency += gather.alone(job.interconnect, job.groups.tensor);
  }
  return message;
}

}  // namespace stepcast
