#include "planner/evaluator.hpp"

#include <algorithm>
#include <cmath>

#include "models/convergence/target.hpp"
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

/// Whether every sample that is trained takes its share of the run's own step.
bool trains_on_own_steps(const RunSpec& run) {
  return !phases_differ(run) && std::none_of(run.phases.begin(), run.phases.end(), [](const PhaseSpec& phase) {
    return phase.kind == PhaseKind::train && phase.time;
  });
}

/// Sums of a run are rounded otherwise than a step's figures, which must not stand above them for that.
constexpr double kBelowRounding = 1 - 1e-12;

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
      least_power_(at_meter(facts_.power.device_idle)),
      states_work_(!question.spec.run.phases.empty() || steps_to_train(variants_.shared())),
      steps_bound_run_(trains_on_own_steps(question.spec.run)) {}

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

std::vector<Fault> Evaluator::faults_of(const StrategySpec& strategy, long batch) {
  if (variants_.with(strategy, batch) != nullptr) return {};
  return variants_.faults();
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

ObjectiveValues Evaluator::least_objectives(Seconds step, Watts power, const Scenario& scenario) const {
  ObjectiveValues out = objectives(step, power, scenario.spec.workload.global_batch);
  if (!states_work_) return out;
  const double samples = work_factor(scenario) * kBelowRounding;
  for (const Objective of_run : {Objective::time, Objective::cost, Objective::energy, Objective::carbon})
    value(out, of_run) *= samples;
  return out;
}

ObjectiveValues Evaluator::with_run(ObjectiveValues step, const RunFigures& run) const {
  if (!(run.work > 0)) return step;
  const bool ends = is_finite(run.time);
  const auto of_sample = [&](double whole) { return ends ? whole / run.work : kUnknownObjective; };
  value(step, Objective::time) = of_sample(run.time.value());
  value(step, Objective::cost) = run.cost ? of_sample(run.cost->value()) : kUnknownObjective;
  value(step, Objective::energy) = of_sample(run.energy.value());
  value(step, Objective::carbon) = facts_.carbon ? of_sample(run.energy.in(1_kWh) * *facts_.carbon) : kUnknownObjective;
  return step;
}

Watts Evaluator::at_meter(Watts per_device) const { return facts_.power.cluster_at_meter(per_device) + facts_.fabric; }

Bytes Evaluator::allowed(Bytes capacity) const {
  return capacity * (1 - question_.spec.constraints.memory_headroom_percent / 100);
}

bool Evaluator::limits_ask_for_run() const {
  const PlanConstraints& limits = question_.spec.constraints;
  return limits.deadline || limits.budget_of_run || limits.minimum_goodput_percent;
}

LimitedFigures Evaluator::limited_figures(const PlanFigures& figures, const RunStep& step,
                                          const std::optional<RunFigures>& run) const {
  LimitedFigures out;
  out.peak_power = figures.peak_power;
  out.average_power = figures.average_power;
  out.cost_rate = figures.cost_rate;
  out.electricity_rate = figures.average_power * facts_.electricity;
  if (question_.spec.constraints.power)
    for (const PhaseScenario& phase : training_scenarios(*step.job.scenario))
      out.peak_power = std::max(
          out.peak_power,
          cluster_terms(*phase.scenario, catalog_, fabric_bill(*phase.scenario, catalog_), std::nullopt).peak());
  if (!run) return out;
  out.goodput = run->goodput;
  if (!states_work_) return out;
  out.run_time = run->time;
  out.run_cost = run->cost;
  return out;
}

Evaluator::RunFigures Evaluator::run_figures(const RunStep& step) const {
  const std::vector<PhaseCost> phases = run_phases(step.job, {step.time, step.device_power});
  const std::vector<RunPart> parts = run_parts(step.job, catalog_, phases, step.time);
  // Where no formula holds, the simulated run of the best decides.
  const std::vector<RunShares> shares = expected_shares(parts).value_or(std::vector<RunShares>(parts.size()));
  RunFigures out;
  out.goodput = goodput_of(parts, shares);
  if (phases.empty()) return out;
  const ClusterTerms own{facts_.power, facts_.fabric, Watts(0), facts_.rate, facts_.electricity, 0};
  const RunSums sums =
      run_sums(phases, parts, shares, phase_terms(phases, own, *step.job.scenario, catalog_, std::nullopt));
  const int sample = std::max(1, step.job.scenario->seq_len);
  for (const PhaseCost& phase : phases) out.work += phase.worth / sample;
  out.time = sums.time;
  out.energy = sums.whole_energy();
  out.cost = sums.cost;
  return out;
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
  const bool bounded = too_slow && (steps_bound_run_ || !states_work_) && !exchanges_apart(*scenario);
  if (bounded && too_slow(option, least_objectives(least_step_time(job), least_power_, *scenario)))
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
  // What a run loses takes longer to find out than its step; no limit asks for it of an option that is too slow by
  // that.
  if (bounded && states_work_ && !limits_ask_for_run() &&
      too_slow(option, least_objectives(out.step_time, out.average_power, *scenario)))
    return Refusal(Rejection::slower);
  const PlanConstraints& limits = question_.spec.constraints;
  const std::optional<Job> of_whole = differ ? std::optional(lower(*whole)) : std::nullopt;
  const RunStep run_step{differ ? *of_whole : job, step.step_time, step.average_device_power};
  std::optional<RunFigures> run;
  if (states_work_ || limits_ask_for_run()) run = run_figures(run_step);
  const LimitedFigures limited = limited_figures(out, run_step, run);
  out.refused = broken_limit(limits, limited);
  if (forecast == Fidelity::simulated) {
    const double deviation = closed_form_deviation(*scenario);
    out.near_limit = broken_limit(limits, limited, -deviation) && !broken_limit(limits, limited, deviation);
  }
  if (out.refused && !out.near_limit) return *out.refused;
  out.objective = objectives(out.step_time, out.average_power, option.batch);
  if (run) {
    out.work = run->work;
    out.objective = with_run(out.objective, *run);
  }
  return out;
}

}  // namespace stepcast
