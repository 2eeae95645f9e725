#pragma once

#include "models/power/power.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// Mean power of one device over a step: linear in how long it runs matrix products, memory-bound operators, its
/// optimizer, and waits in a collective's kernel, ready else: while it waits for input no kernel runs. A
/// pipeline stage that waits for another does so in a receive kernel, and a member that waits for a slower one in the
/// collective's.
Watts average_device_power(const StepBreakdown& breakdown, const PowerModel& power);

}  // namespace stepcast
