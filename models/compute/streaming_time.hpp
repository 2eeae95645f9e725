#pragma once

#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// Time of a memory-bound kernel that moves `bytes`: launch + what the cache keeps at its rate, the rest at the share
/// of the memory bandwidth that this kernel reaches.
Seconds streaming_time(const StreamingConstants& kernel, Bytes bytes, const Accelerator& accelerator);

}  // namespace stepcast
