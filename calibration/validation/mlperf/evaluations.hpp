#pragma once

#include <string_view>

namespace stepcast {

/// Evaluations of an MLPerf run until it reaches its target.
struct Evaluations {
  double times = 0;
  double samples = 0;  ///< of each
};

/// Of a benchmark that trains so many samples at a global batch, by the rules of its reference; none for benchmarks
/// without a description.
Evaluations mlperf_evaluations(std::string_view benchmark, double global_batch, double samples_to_target);

}  // namespace stepcast
