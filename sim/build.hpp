#pragma once

#include "models/parallelism/job.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

struct BuildOptions {
  Granularity granularity = Granularity::segment;
};

/// The step of a job as a graph of operations on one representative device per pipeline rank, with the links that they
/// share. The job must outlive the graph.
StepGraph build_step_graph(const Job& job, const BuildOptions& options = {});

}  // namespace stepcast
