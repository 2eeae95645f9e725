#pragma once

#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Elements of the tensors of one replica in their order of creation, as far as their shapes are known.
std::vector<double> tensors_of(const Job& job);

/// Elements that meet on the busiest of `devices` over a device's even share (≥ 1), where each tensor is summed on one
/// device: dealt out from the largest, each to the device that has least so far. MXNet's comm.h, InitMergeBuffer.
double busiest_owner(std::vector<double> tensors, int devices);

/// How many buckets of PyTorch's reducer the gradients of one chunk fill, in the order in which they become ready. A
/// bucket closes with the tensor that fills it, so no tensor is cut, and the first closes sooner than the others (c10d,
/// reducer.cpp: compute_bucket_assignment_by_size, kDefaultFirstBucketBytes).
class BucketCount {
 public:
  /// The first bucket closes at `first`, later ones at `others`.
  BucketCount(Bytes first, Bytes others) : limit_(first), others_(others) {}

  /// Adds the trained gradients of a layer, experts' left out.
  void add(const LayerCost& layer, double bytes_per_gradient);
  /// Buckets that have closed since it was asked last, and the one that is open where it is the chunk's `last`; at
  /// least one.
  [[nodiscard]] int take(bool last);
  /// Size at which the next bucket closes.
  [[nodiscard]] Bytes limit() const { return limit_; }

 private:
  void add(Bytes tensor);

  Bytes limit_, others_, open_;
  int closed_ = 0;
};

}  // namespace stepcast
