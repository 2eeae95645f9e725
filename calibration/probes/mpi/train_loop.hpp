#pragma once

#include <cstdint>
#include <vector>

#include "calibration/probes/common/result_file.hpp"
#include "calibration/probes/mpi/world.hpp"

namespace stepcast::probes {

/// How computation is stood in for.
enum class Computing {
  busy,  ///< a loop calibrated to the time asked for: another process on its core slows it down
  sleep  ///< a timed sleep: communication has the processor for itself, as it has beside an accelerator
};

/// How gradients are summed beside the backward pass.
enum class Overlapping {
  none,   ///< all buckets after it
  test,   ///< nonblocking, progress by MPI_Test between pieces of computation
  thread  ///< blocking calls on a thread of its own
};

/// A data-parallel training loop whose computation is known.
struct TrainSettings {
  int layers = 8;
  std::int64_t layer_bytes = 1 << 20;            ///< gradients of one layer, float32
  std::int64_t bucket_bytes = 4 << 20;           ///< a bucket is closed when it has so many bytes, as in PyTorch DDP
  double forward_us = 1000, backward_us = 2000;  ///< of one layer
  Computing computing = Computing::sleep;
  Overlapping overlapping = Overlapping::thread;
  int steps = 20;
};

/// Runs warm-up steps, of which the first is checked, then `steps` steps, and adds a row on rank 0. Buckets fill from
/// the last layer to the first and are summed one after the other, in order. Throws Fault (check failed) on wrong sums.
void probe_training(const World& world, const TrainSettings& settings, ResultFile& file);

}  // namespace stepcast::probes
