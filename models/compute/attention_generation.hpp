#pragma once

#include "hardware-catalog/parts.hpp"
#include "models/frameworks/framework.hpp"

namespace stepcast {

/// The generation of attention kernels whose figure a compute profile has for one: its own, else that of the next one
/// it has, at the latest the vendor's. An older one is no faster.
AttentionKernel measured_generation(const ComputeProfile& profile, AttentionKernel kernel);

}  // namespace stepcast
