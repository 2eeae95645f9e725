#include "planner/evaluator.hpp"

#include <algorithm>
#include <cmath>

#include "models/estimate.hpp"
#include "models/least_step.hpp"
#include "models/memory/peak.hpp"
#include "models/phases/run_phases.hpp"
#include "models/power/facility.hpp"
#include "models/updates/closed_step.hpp"
#include "models/updates/lone_node.hpp"
#include "report/run_parts.hpp"

namespace stepcast {

namespace {

Refusal memory_refusal(Bytes over) {
  const Rejection reason = over <= 1_GiB    ? Rejection::memory_under_1
                           : over <= 8_GiB  ? Rejection::memory_under_8
                           : over <= 64_GiB ? Rejection::memory_under_64
                                            : Rejection::memory_beyond;
  return {reason, over.value()};
}

double& value(ObjectiveValues& values, Objective objective) { return values[static_cast<std::size_t>(objective)]; }

}  // namespace

bool dominates(const ObjectiveValues& a, const ObjectiveValues& b, const std::vector<Objective>& asked) {
  bool better = false;
  for (const Objective objective : asked) {
    const auto i = static_cast<std::size_t>(objective);
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

Evaluator::Evaluator(const PlanQuestion& question, const FamilySpec& family, const Catalog& catalog)
    : question_(question),
      catalog_(catalog),
      variants_(scenario_of(question.spec, family), question.file, catalog),
      facts_(facts_of(variants_.shared(), question.spec, catalog)),
      space_(std::make_unique<Space>(question.spec, variants_.shared())),
      least_power_(at_meter(facts_.power.device_idle)) {}

std::optional<Refusal> Evaluator::ruled_out() const {
  const PlanConstraints& limits = question_.spec.constraints;
  if (limits.rack_units && facts_.rack_units > *limits.rack_units)
    return Refusal(Rejection::over_rack, facts_.rack_units);
  if (limits.budget_to_buy) {
    if (!facts_.price) return Refusal(Rejection::price_unknown);
    if (*facts_.price > *limits.budget_to_buy) return Refusal(Rejection::over_budget_to_buy, facts_.price->value());
  }
  const bool priced = limits.budget || limits.budget_of_run || question_.objective() == Objective::cost;
  if (priced && !facts_.rate) return Refusal(Rejection::price_unknown);
  if (limits.budget) {
    const DollarsPerSecond least = *facts_.rate + least_power_ * facts_.electricity;
    if (least > *limits.budget) return Refusal(Rejection::over_budget, least.value());
  }
  if (limits.power && least_power_ > *limits.power) return Refusal(Rejection::over_power, least_power_.value());
  return std::nullopt;
}

const Scenario* Evaluator::scenario(const Option& option) {
  return variants_.with(space_->strategy(option), option.batch);
}

ObjectiveValues Evaluator::objectives(Seconds step, Watts power, long batch) const {
  ObjectiveValues out;
  const Seconds sample = step / static_cast<double>(batch);
  const Joules energy = power * sample;
  value(out, Objective::time) = sample.value();
  value(out, Objective::cost) =
      facts_.rate ? ((*facts_.rate + power * facts_.electricity) * sample).value() : kUnknownObjective;
  value(out, Objective::energy) = energy.value();
  value(out, Objective::carbon) = facts_.carbon ? energy.in(1_kWh) * *facts_.carbon : kUnknownObjective;
  value(out, Objective::throughput_per_watt) = energy.value();  // watts over samples per second
  return out;
}

Watts Evaluator::at_meter(Watts per_device) const { return facts_.power.cluster_at_meter(per_device) + facts_.fabric; }

Bytes Evaluator::allowed(Bytes capacity) const {
  return capacity * (1 - question_.spec.constraints.memory_headroom_percent / 100);
}

LimitedFigures Evaluator::limited_figures(const PlanFigures& figures, const RunStep& step) const {
  const PlanConstraints& limits = question_.spec.constraints;
  LimitedFigures out;
  out.peak_power = figures.peak_power;
  out.average_power = figures.average_power;
  out.cost_rate = figures.cost_rate;
  out.electricity_rate = figures.average_power * facts_.electricity;
  if (limits.power)
    for (const PhaseScenario& phase : training_scenarios(*step.job.scenario))
      out.peak_power = std::max(
          out.peak_power,
          cluster_terms(*phase.scenario, catalog_, fabric_bill(*phase.scenario, catalog_), std::nullopt).peak());
  if (limits.deadline || limits.budget_of_run || limits.minimum_goodput_percent) add_run(out, step);
  return out;
}

void Evaluator::add_run(LimitedFigures& out, const RunStep& step) const {
  const std::vector<PhaseCost> phases = run_phases(step.job, {step.time, step.device_power});
  const std::vector<RunPart> parts = run_parts(step.job, catalog_, phases, step.time);
  // Where no formula holds, the simulated run of the best decides.
  const std::vector<RunShares> shares = expected_shares(parts).value_or(std::vector<RunShares>(parts.size()));
  out.goodput = goodput_of(parts, shares);
  if (phases.empty()) return;
  const ClusterTerms own{facts_.power, facts_.fabric, Watts(0), facts_.rate, facts_.electricity, 0};
  const RunSums sums =
      run_sums(phases, parts, shares, phase_terms(phases, own, *step.job.scenario, catalog_, std::nullopt));
  out.run_time = sums.time;
  out.run_cost = sums.cost;
}

std::optional<Refusal> Evaluator::phase_too_large(const Scenario& whole) const {
  for (const PhaseScenario& phase : training_scenarios(whole)) {
    const MemoryPeak memory = peak_memory(stepcast::lower(*phase.scenario));
    if (memory.need > allowed(memory.capacity)) return memory_refusal(memory.need - allowed(memory.capacity));
    if (!memory.fits) return Refusal(Rejection::memory_beyond);
  }
  return std::nullopt;
}

std::shared_ptr<const Scenario> Evaluator::with_phases(const Scenario& scenario) const {
  try {
    return std::make_shared<const Scenario>(resolve(to_json(scenario), question_.file, {}, catalog_));
  } catch (const InputError&) {
    return nullptr;
  }
}

std::variant<PlanFigures, Refusal> Evaluator::evaluate(const Option& option, const TooSlow& too_slow,
                                                       Fidelity forecast) {
  const Scenario* scenario = this->scenario(option);
  if (scenario == nullptr) return Refusal(Rejection::forbidden);
  const Job& job = lowering_.lower(*scenario);
  PlanFigures out;
  const MemoryPeak memory = peak_memory(job);
  out.memory = memory.need;
  out.capacity = allowed(memory.capacity);
  if (out.memory > out.capacity) return memory_refusal(out.memory - out.capacity);
  if (!memory.fits) return Refusal(Rejection::memory_beyond);  // what is offloaded exceeds the host's
  // Workers that meet otherwise may leave the update to others and are as fast as they were drawn: no bound is theirs.
  const bool bounded = too_slow && !exchanges_apart(*scenario);
  if (bounded && too_slow(option, objectives(least_step_time(job), least_power_, option.batch)))
    return Refusal(Rejection::slower);
  // Phases that differ are scenarios of their own, which follow from the option.
  const bool differ = phases_differ(scenario->spec.run);
  const std::shared_ptr<const Scenario> whole = differ ? with_phases(*scenario) : nullptr;
  if (differ && !whole) return Refusal(Rejection::forbidden);
  if (differ)
    if (const std::optional<Refusal> refused = phase_too_large(*whole)) return *refused;
  const StepBreakdown step = closed_step(job);
  out.step_time = step.step_time;
  out.average_power = at_meter(step.average_device_power);
  out.peak_power = at_meter(step.peak_device_power);
  if (facts_.rate) out.cost_rate = *facts_.rate + out.average_power * facts_.electricity;
  const PlanConstraints& limits = question_.spec.constraints;
  const std::optional<Job> of_whole = differ ? std::optional(lower(*whole)) : std::nullopt;
  const LimitedFigures limited =
      limited_figures(out, {differ ? *of_whole : job, step.step_time, step.average_device_power});
  out.refused = broken_limit(limits, limited);
  if (forecast == Fidelity::simulated) {
    const double deviation = closed_form_deviation(*scenario);
    out.near_limit = broken_limit(limits, limited, -deviation) && !broken_limit(limits, limited, deviation);
  }
  if (out.refused && !out.near_limit) return *out.refused;
  out.objective = objectives(out.step_time, out.average_power, option.batch);
  return out;
}

}  // namespace stepcast
