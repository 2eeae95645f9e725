#include "models/closed_form.hpp"

#include "models/estimate.hpp"
#include "models/power/average_power.hpp"
#include "models/storage/storage.hpp"

namespace stepcast {

void wait_for_input(StepBreakdown& step, const Job& job) {
  const Seconds input = input_time(*job.scenario);
  if (!(input > step.step_time)) return;
  const Seconds wait = input - step.step_time;
  const double reading = 1.0 / job.scenario->degrees.pp;
  auto& share = step.communication[static_cast<std::size_t>(CollectiveKind::send_recv)]
                                  [static_cast<std::size_t>(Dimension::storage)];
  share.total += reading * input;
  share.exposed += reading * wait;
  step.bubble += (1 - reading) * wait;
  step.step_time = input;
}

StepBreakdown closed_form(const Job& job) {
  StepBreakdown out = estimate(job);
  const Seconds without = out.step_time;
  wait_for_input(out, job);
  if (out.step_time > without) out.average_device_power = average_device_power(out, power_model(*job.scenario));
  return out;
}

}  // namespace stepcast
