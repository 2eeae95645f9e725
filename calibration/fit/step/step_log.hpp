#pragma once

#include <string>
#include <vector>

#include "fields/diagnostics.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Step time that a training log tells: the median over the second half of its steps, for the first ones warm up. Knows
/// Megatron's "elapsed time per iteration (ms): 12345.6", and "step_time", "iteration_time", "step time" or "s/it" with
/// seconds (or milliseconds where the text says ms). A log without any is a fault.
Seconds step_time_of_log(const std::string& file, Diagnostics& diagnostics);

}  // namespace stepcast
