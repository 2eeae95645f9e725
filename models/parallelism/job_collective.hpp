#pragma once

#include <cstdint>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Whose ranks a communicator joins: those of one model replica, or of several.
enum class Joined : std::uint8_t { replica, replicas };

/// The cost of a collective of a job: collective_cost on its links, or the measured time where its cluster is
/// calibrated and the library chooses the algorithm. Nodes of whatever state that one communicator joins run the same
/// algorithm and protocol.
CollectiveCost job_collective(CollectiveKind kind, Bytes payload, const GroupShape& group, const Job& job,
                              CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic,
                              Joined joined = Joined::replica);

}  // namespace stepcast
