#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// The cost of a collective of a job: collective_cost on its links, or the measured time where its cluster is
/// calibrated and the library chooses the algorithm.
CollectiveCost job_collective(CollectiveKind kind, Bytes payload, const GroupShape& group, const Job& job,
                              CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

}  // namespace stepcast
