#include "models/power/average_power.hpp"

#include <algorithm>

namespace stepcast {

Watts average_device_power(const StepBreakdown& b, const PowerModel& power) {
  if (!(b.step_time > Seconds(0))) return power.device_idle;
  const Seconds input = b.input_exposed();
  const Seconds waiting = b.communication_exposed() - input + b.synchronization_wait + b.bubble;
  const Seconds unsorted = std::max(Seconds(0), b.compute - b.matrix_time - b.memory_time);
  const Joules above = (power.device_compute - power.device_ready) * (b.matrix_time + unsorted) +
                       (power.device_memory - power.device_ready) * b.memory_time +
                       (power.device_updating - power.device_ready) * b.optimizer +
                       (power.device_waiting - power.device_ready) * waiting;
  // Means over stages that wait for each other may add up to a little more than the step.
  const Seconds sorted = b.matrix_time + unsorted + b.memory_time + b.optimizer + waiting + input;
  return power.device_ready + above / std::max(b.step_time, sorted);
}

}  // namespace stepcast
