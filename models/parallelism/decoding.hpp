#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Whether the cores that decode samples are those that train: a node without accelerators, `workload.input.decode_ms`
/// stated and the cores known.
bool decodes_on_training_cores(const Scenario& scenario);

/// Adds to the forward pass of a replica's first layer what decoding the micro-batch takes on the cores of its ranks.
/// Nothing where other cores decode.
void add_decoding(Job& job);

}  // namespace stepcast
