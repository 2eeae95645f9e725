#include "models/parallelism/job_collective.hpp"

#include "models/collectives/calibrated.hpp"

namespace stepcast {

CollectiveCost job_collective(CollectiveKind kind, Bytes payload, const GroupShape& group, const Job& job,
                              CollectiveAlgorithm algorithm) {
  const CollectiveCost cost = collective_cost(kind, payload, group, job.interconnect, algorithm);
  const Scenario& scenario = *job.scenario;
  const bool measured = (scenario.link_profile != nullptr && scenario.link_profile->calibration) ||
                        (scenario.network_profile != nullptr && scenario.network_profile->calibration);
  // Whether there is a calibration is asked first: nearly never, and the closed form lowers thousands of jobs.
  if (!measured || algorithm != CollectiveAlgorithm::automatic || group.size <= 1 || payload <= Bytes(0)) return cost;
  return calibrated(cost, kind, payload, group, job.interconnect, machine_of(scenario));
}

}  // namespace stepcast
