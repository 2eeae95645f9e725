#pragma once

#include <functional>

#include "calibration/probes/mpi/train_loop.hpp"

namespace stepcast::probes {

/// Stands in for the computation of a layer.
class Computation {
 public:
  /// A busy loop is calibrated here, which takes about 50 ms; all ranks do it at once, as they will later.
  explicit Computation(Computing kind);

  /// Computes for `us`. `between`, where given, is called every 100 µs or so. Returns how long it took, in µs.
  double run(double us, const std::function<void()>& between = {}) const;

 private:
  void piece(double us) const;
  Computing kind_;
  double loops_per_us_ = 0;
};

}  // namespace stepcast::probes
