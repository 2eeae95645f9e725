#include "models/parallelism/job_collective.hpp"

#include "models/collectives/calibrated.hpp"

namespace stepcast {

namespace {

/// A communicator runs one algorithm, which the library chooses by the links that it finds on all of its nodes, not by
/// how fast one node's happen to be (NCCL: graph/tuning.cc).
CollectiveCost on_links(CollectiveKind kind, Bytes payload, const GroupShape& group, const Job& job,
                        CollectiveAlgorithm algorithm, Joined joined) {
  const auto& found = joined == Joined::replicas ? job.chosen_over_replicas : job.chosen_in_replica;
  if (!found) return collective_cost(kind, payload, group, job.interconnect, algorithm);
  const CollectiveCost chosen = collective_cost(kind, payload, group, *found, algorithm);
  // Its parts are communicators of their own, each with a protocol of its own.
  const bool in_parts = chosen.algorithm == CollectiveAlgorithm::hierarchical;
  return collective_cost(kind, payload, group, job.interconnect, chosen.algorithm,
                         in_parts ? CollectiveProtocol::automatic : chosen.protocol);
}

}  // namespace

CollectiveCost job_collective(CollectiveKind kind, Bytes payload, const GroupShape& group, const Job& job,
                              CollectiveAlgorithm algorithm, Joined joined) {
  const CollectiveCost cost = on_links(kind, payload, group, job, algorithm, joined);
  const Scenario& scenario = *job.scenario;
  const bool measured = (scenario.link_profile != nullptr && scenario.link_profile->calibration) ||
                        (scenario.network_profile != nullptr && scenario.network_profile->calibration);
  // Whether there is a calibration is asked first: nearly never, and the closed form lowers thousands of jobs.
  if (!measured || algorithm != CollectiveAlgorithm::automatic || group.size <= 1 || payload <= Bytes(0)) return cost;
  return calibrated(cost, kind, payload, group, job.interconnect, machine_of(scenario));
}

}  // namespace stepcast
