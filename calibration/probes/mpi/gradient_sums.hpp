#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "calibration/probes/mpi/train_loop.hpp"

namespace stepcast::probes {

/// A run of gradients that are summed together.
struct Bucket {
  std::size_t begin, count;  ///< elements
  int after_layer;           ///< ready when the backward pass has left this layer
};

/// Buckets of a model's gradients, in the order in which they become ready. Gradients lie last layer first.
std::vector<Bucket> buckets_of(const TrainSettings& settings);

/// Sums buckets over all ranks, in order, beside the computation.
class GradientSums {
 public:
  virtual ~GradientSums() = default;
  /// A bucket is ready to be summed.
  virtual void start(const Bucket& bucket) = 0;
  /// Called often; goes on with what is under way, where nothing else does.
  virtual void progress() {}
  /// Returns when every bucket that was started is summed.
  virtual void finish() = 0;
};

/// The way of summing that is asked for, on the gradients of this rank.
std::unique_ptr<GradientSums> gradient_sums(Overlapping overlapping, MPI_Comm communicator,
                                            std::vector<float>& gradients);

}  // namespace stepcast::probes
