#pragma once

#include <vector>

#include "calibration/validation/operators/completed_profile.hpp"

namespace stepcast {

/// Gives a profile the fused kernels that it lacks, in each format and both passes (docs/models/operators.md,
/// siblings).
void complete_attention(OperatorProfile& out, const OperatorFamily& own, const std::vector<OperatorFamily>& nearest);

}  // namespace stepcast
