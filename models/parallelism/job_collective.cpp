#include "models/parallelism/job_collective.hpp"

#include "models/collectives/calibrated.hpp"

namespace stepcast {

namespace {

/// A communicator runs one algorithm, which the library chooses by the links that it finds, not by how fast one node's
/// happen to be (NCCL: graph/tuning.cc).
CollectiveCost on_links(CollectiveKind kind, Bytes payload, const GroupShape& group, const Job& job,
                        CollectiveAlgorithm algorithm) {
  if (!job.owned_scenario) return collective_cost(kind, payload, group, job.interconnect, algorithm);
  Interconnect as_built = interconnect_of(*job.scenario);
  as_built.uplinks = job.interconnect.uplinks;
  const CollectiveCost chosen = collective_cost(kind, payload, group, as_built, algorithm);
  return collective_cost(kind, payload, group, job.interconnect, chosen.algorithm, chosen.protocol);
}

}  // namespace

CollectiveCost job_collective(CollectiveKind kind, Bytes payload, const GroupShape& group, const Job& job,
                              CollectiveAlgorithm algorithm) {
  const CollectiveCost cost = on_links(kind, payload, group, job, algorithm);
  const Scenario& scenario = *job.scenario;
  const bool measured = (scenario.link_profile != nullptr && scenario.link_profile->calibration) ||
                        (scenario.network_profile != nullptr && scenario.network_profile->calibration);
  // Whether there is a calibration is asked first: nearly never, and the closed form lowers thousands of jobs.
  if (!measured || algorithm != CollectiveAlgorithm::automatic || group.size <= 1 || payload <= Bytes(0)) return cost;
  return calibrated(cost, kind, payload, group, job.interconnect, machine_of(scenario));
}

}  // namespace stepcast
