#pragma once

#include <optional>

#include "models/parallelism/job.hpp"
#include "sim/protocol/child_process.hpp"

namespace stepcast {

/// The job's step while an asynchronous checkpoint drains beside it, simulated in a process of its own from the
/// constructor on, for SimGrid's engine can be made once a process. Must be made before the engine.
class WritingRun {
 public:
  explicit WritingRun(const Job& job);
  /// Waits for the time of the step. Null when no checkpoint meets the step's traffic: it is not asynchronous, stays on
  /// the nodes, or leaves them by NICs of its own.
  std::optional<Seconds> step();

 private:
  std::optional<ChildProcess> child_;
};

}  // namespace stepcast
