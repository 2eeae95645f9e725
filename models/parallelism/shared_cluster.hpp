#pragma once

#include <array>
#include <span>
#include <vector>

#include "models/parallelism/node_map.hpp"

namespace stepcast {

/// How several jobs lie on one fabric. `apart`: each begins at a leaf of its own and fills it; `interleaved`: nodes are
/// dealt to the jobs in turn, so that every leaf holds some of each.
enum class JobMixing { apart, interleaved };
template <>
struct EnumNames<JobMixing> {
  static constexpr std::array names{"apart", "interleaved"};
};

/// Which nodes of their common fabric jobs have. The fabric is as large as they need together.
std::vector<JobNodes> place_jobs(std::span<const Scenario> jobs, JobMixing mixing);

/// Jobs share a fabric when they state the same one and bring the same NICs; another is a fault at
/// `/jobs/i/cluster/fabric`. On a torus each has a slice of its own (TPU pods are let by slices): dealt nodes are a
/// fault at `/mixing`.
void check_same_fabric(std::span<const Scenario> jobs, JobMixing mixing, Diagnostics& diagnostics);

}  // namespace stepcast
