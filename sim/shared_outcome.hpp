#pragma once

#include <string>
#include <vector>

#include "models/parallelism/shared_cluster.hpp"

namespace stepcast {

/// A job on a fabric that it shares with others.
struct SharedJobOutcome {
  std::string name;
  int nodes = 0, devices = 0;
  Seconds alone;     ///< its step on the same nodes with nobody else on the fabric
  Seconds together;  ///< mean of its steps while all jobs run
  int steps = 0;     ///< that the mean is of
  [[nodiscard]] double slowdown() const { return together / alone; }
};

/// Several jobs on one fabric.
struct SharedOutcome {
  JobMixing mixing = JobMixing::apart;
  std::vector<SharedJobOutcome> jobs;
};

}  // namespace stepcast
