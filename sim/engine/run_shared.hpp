#pragma once

#include "fields/json_text.hpp"
#include "hardware-catalog/catalog.hpp"
#include "sim/shared_outcome.hpp"

namespace stepcast {

/// Jobs that run at the same time on one fabric: `{"jobs": [scenario, …], "mixing": "apart" | "interleaved"}`.
///
/// Each runs alone first, in a process of its own, then all together; shorter jobs repeat their step, so that the
/// longest meets their traffic all along. A job's time together is the mean of its steps until the first job is done
/// with its last. Throws InputError; faults of job i point into `/jobs/i`.
SharedOutcome run_shared(const Json& document, const std::string& file, const Catalog& catalog);

}  // namespace stepcast
