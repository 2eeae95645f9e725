#include "models/updates/closed_step.hpp"

#include <utility>

#include "models/closed_form.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/power/average_power.hpp"
#include "models/updates/actor_step.hpp"
#include "models/updates/lone_node.hpp"
#include "models/updates/update_step.hpp"

namespace stepcast {

namespace {

ClosedStep before_actors(const Job& job) {
  if (!exchanges_apart(*job.scenario)) return {closed_form(job), std::nullopt};
  const Scenario lone_scenario = lone_node(*job.scenario);
  const Job lone = lower(lone_scenario);
  UpdateStep step = update_step(job, lone, closed_form(lone));
  return {step.breakdown, std::move(step.outcome)};
}

}  // namespace

ClosedStep closed_step_of(const Job& job) {
  ClosedStep out = before_actors(job);
  if (job.scenario->actors) out.updates = wait_for_actors(out.breakdown, job);
  if (!(out.breakdown.average_device_power > Watts(0)))
    out.breakdown.average_device_power = average_device_power(out.breakdown, power_model(*job.scenario));
  return out;
}

StepBreakdown closed_step(const Job& job) { return closed_step_of(job).breakdown; }

}  // namespace stepcast
