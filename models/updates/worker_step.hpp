#pragma once

#include <vector>

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// What one worker does in a step between exchanges with others, on average.
struct WorkerStep {
  Seconds forward, backward;  ///< fixed times and host gaps included
  Seconds update;             ///< optimizer on the worker
  /// Gradients that leave together: when they are ready, after the step began, and their bytes on the network.
  struct Bucket {
    Seconds ready;     ///< since the step began
    Bytes push, pull;  ///< on the network, to servers and back
  };
  std::vector<Bucket> buckets;  ///< in order of readiness; the last one is ready when the backward pass ends
  double parameters = 0;        ///< of one model replica, all its devices together
  /// Without the update.
  [[nodiscard]] Seconds busy() const { return forward + backward; }
  /// Of all buckets.
  [[nodiscard]] Bytes push() const;
  /// Of all buckets.
  [[nodiscard]] Bytes pull() const;
};

/// Of a job whose workers exchange otherwise than by collectives: `lone` is one of its nodes by itself, `alone` what a
/// step of that takes.
WorkerStep worker_step(const Job& job, const Job& lone, const StepBreakdown& alone);

/// A lone node's breakdown as that of a worker: a device's, which waits for nobody, or the node's as it is; with the
/// input that all workers together get of what they share.
StepBreakdown worker_breakdown(const Job& job, const StepBreakdown& alone);

/// Forward pass of one micro-batch over all chunks of a job.
Seconds forward_of(const Job& job);

}  // namespace stepcast
