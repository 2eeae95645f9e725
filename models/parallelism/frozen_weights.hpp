#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Beside which products of a block adapters are trained, where some are.
AdapterTargets adapter_targets(const Scenario& scenario);

/// Bytes of a frozen weight that is held packed, its share of the scales included; 0 where none is.
double packed_weight_bytes(const WorkloadSpec& workload);

/// The same over a weight's bytes in the products' format; 1 where none is packed.
double packed_over_whole(const Scenario& scenario);

}  // namespace stepcast
