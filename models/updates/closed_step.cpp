#include "models/updates/closed_step.hpp"

#include "models/closed_form.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/power/average_power.hpp"
#include "models/updates/actor_step.hpp"
#include "models/updates/lone_node.hpp"
#include "models/updates/update_step.hpp"

namespace stepcast {

namespace {

StepBreakdown before_actors(const Job& job) {
  if (!exchanges_apart(*job.scenario)) return closed_form(job);
  const Scenario lone_scenario = lone_node(*job.scenario);
  const Job lone = lower(lone_scenario);
  return update_step(job, lone, closed_form(lone)).breakdown;
}

}  // namespace

StepBreakdown closed_step(const Job& job) {
  StepBreakdown out = before_actors(job);
  if (job.scenario->actors) wait_for_actors(out, job);
  if (!(out.average_device_power > Watts(0)))
    out.average_device_power = average_device_power(out, power_model(*job.scenario));
  return out;
}

}  // namespace stepcast
