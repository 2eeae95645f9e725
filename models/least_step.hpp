#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// A lower bound on the closed form's step time: the pipeline with its bubble, the update and the fixed overhead; no
/// messages, no exposed traffic between replicas. A fraction of the estimate's own cost.
Seconds least_step_time(const Job& job);

}  // namespace stepcast
