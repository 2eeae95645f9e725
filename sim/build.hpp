#pragma once

#include "models/parallelism/job.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

struct BuildOptions {
  Granularity granularity = Granularity::segment;
  /// Eight million take some 10 s and 2 GB (measured 2026-11: GPT-3 by operator, 6 GB for some 30 million).
  std::size_t most_operations = 8'000'000;
};

/// The step of a job as a graph of operations on one representative device per pipeline rank, with the links that they
/// share. The job must outlive the graph. Throws InputError, without a file, when the graph would be larger than the
/// options allow.
StepGraph build_step_graph(const Job& job, const BuildOptions& options = {});

}  // namespace stepcast
