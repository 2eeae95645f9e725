#pragma once

#include <string>
#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// One checkpoint of a job: what it costs to write and to come back to.
struct CheckpointCost {
  CheckpointKind kind = CheckpointKind::sharded;
  bool local = true;
  Bytes size;                 ///< of the whole model's states, once
  Seconds stall;              ///< for which training stands
  Seconds write;              ///< until it is safe; of an asynchronous one longer than the stall
  Seconds read;               ///< of all nodes, on restart
  Seconds shortest_interval;  ///< an asynchronous one is written before the next starts
  std::string basis;          ///< at which rate, for people
  /// What was taken for rates that nobody states, and what drives do not hold, in words.
  std::vector<std::string> remarks;
};

/// Bytes that a checkpoint of the job holds: trained parameters, their optimizer states (`state_bytes`) and what
/// the outer optimizer of local steps keeps, once; of a federation the average alone. Frozen ones are where they came
/// from.
Bytes checkpoint_size(const Job& job);

/// Rate at which a node of the scenario's own kind writes its part while all nodes do.
BytesPerSecond writing_rate(const Scenario& scenario, bool local);

/// Cost of a checkpoint by `run.checkpoint` (docs/models/reliability.md).
CheckpointCost checkpoint_cost(const Job& job);

}  // namespace stepcast
