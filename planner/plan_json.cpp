#include <charconv>
#include <cmath>

#include "planner/nearest_miss.hpp"
#include "planner/plan.hpp"
#include "report/run_outlook.hpp"
#include "units/calendar.hpp"

namespace stepcast {

namespace {

/// Twelve significant digits, as a prediction's figures; null where nothing is known.
Json figure(double value) {
  if (!std::isfinite(value)) return nullptr;
  const std::string text = fmt::format("{:.12g}", value);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

template <class Q>
Json figure(const std::optional<Q>& quantity, Q unit) {
  return quantity ? figure(quantity->in(unit)) : Json(nullptr);
}

Json cost_json(const PlanCandidate& c) {
  const Prediction& p = c.prediction;
  return {{"usd_per_h", figure(p.cost_rate, 1_usd / 1_h)},
          {"usd_per_month", figure(p.cost_rate, 1_usd / kMonth)},
          {"of_run_usd", figure(p.run_cost, 1_usd)},
          {"usd_per_sample", figure(c.objective[static_cast<std::size_t>(Objective::cost)])},
          {"to_buy_usd", figure(c.price, 1_usd)},
          {"basis", p.cost_basis}};
}

Json energy_json(const PlanCandidate& c) {
  const Prediction& p = c.prediction;
  Json of_run = p.outlook && p.outlook->run ? figure(p.outlook->run->energy.in(1_kWh)) : Json(nullptr);
  return {{"per_step_J", figure(p.energy_per_step.in(1_J))},
          {"per_sample_J", figure(p.energy_per_sample.in(1_J))},
          {"of_run_kWh", std::move(of_run)},
          {"average_power_W", figure(p.average_power.in(1_W))},
          {"peak_power_W", figure(p.peak_power.in(1_W))},
          {"carbon_of_run_t", c.carbon_of_run_t ? figure(*c.carbon_of_run_t) : Json(nullptr)}};
}

Json candidate_json(const PlanCandidate& c) {
  const Prediction& p = c.prediction;
  Json binding = Json::array();
  for (const Binding& b : c.binding)
    binding.push_back({{"what", b.what}, {"share", figure(b.share)}, {"why", b.words}});
  return {{"scenario", c.scenario},
          {"step_time_s", figure(p.step_time.in(1_s))},
          {"interval_s", {figure(p.step_time_low().in(1_s)), figure(p.step_time_high().in(1_s))}},
          {"evidence", std::string(name_of(p.expected_error.grade))},
          {"evidence_why", p.expected_error.why},
          {"closed_form_step_time_s", figure(c.closed_form.in(1_s))},
          {"fidelity", p.fidelity},
          {"tie_with_best", c.tie},
          {"of_other_kind", c.of_other_kind},
          {"tokens_per_s", p.tokens_per_s > 0 ? figure(p.tokens_per_s) : Json(nullptr)},
          {"samples_per_s", figure(p.samples_per_s)},
          {"mfu", figure(p.mfu)},
          {"time_to_train_s", figure(p.time_to_train, 1_s)},
          {"goodput", p.outlook ? figure(p.outlook->goodput.mean) : Json(nullptr)},
          {"memory_GiB", figure(p.memory.stages.at(static_cast<std::size_t>(p.memory.worst_stage)).total().in(1_GiB))},
          {"cost", cost_json(c)},
          {"energy", energy_json(c)},
          {"network", c.network},
          {"binding", std::move(binding)}};
}

Json pareto_json(const ParetoPoint& point, const std::vector<Objective>& objectives) {
  Json values = Json::object();
  for (const Objective objective : objectives)
    values[std::string(name_of(objective))] = figure(point.figures.objective[static_cast<std::size_t>(objective)]);
  return {{"scenario", point.scenario},
          {"step_time_s", figure(point.figures.step_time.in(1_s))},
          {"per_sample", std::move(values)}};
}

}  // namespace

Json plan_json(const PlanAnswer& answer) {
  Json rejected = Json::object(), nearest = Json::object();
  for (std::size_t i = 0; i < kRejections; ++i) {
    const std::string reason(EnumNames<Rejection>::names[i]);
    if (answer.tally.rejected[i] > 0) rejected[reason] = answer.tally.rejected[i];
    if (const auto miss = nearest_miss(answer.tally, static_cast<Rejection>(i)))
      nearest[reason] = {{miss->unit, miss->figure}};
  }
  Json faults = Json::array();
  for (const Fault& fault : answer.faults) faults.push_back(fault.text());
  Json candidates = Json::array(), pareto = Json::array(), to_measure = Json::array();
  for (const PlanCandidate& candidate : answer.candidates) candidates.push_back(candidate_json(candidate));
  for (const ParetoPoint& point : answer.pareto) pareto.push_back(pareto_json(point, answer.objectives));
  for (const ToMeasure& one : answer.to_measure)
    to_measure.push_back({{"framework", one.framework},
                          {"accelerator", one.accelerator},
                          {"evidence", std::string(name_of(one.grade))},
                          {"why", one.why},
                          {"command", one.command}});
  return {{"name", answer.name},
          {"evaluated", answer.tally.evaluated},
          {"feasible", answer.tally.feasible},
          {"rejected", std::move(rejected)},
          {"nearest_misses", std::move(nearest)},
          {"faults", std::move(faults)},
          {"candidates", std::move(candidates)},
          {"pareto", std::move(pareto)},
          {"to_measure", std::move(to_measure)},
          {"stopped_early", answer.stopped}};
}

}  // namespace stepcast
