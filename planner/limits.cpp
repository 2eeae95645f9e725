#include "planner/limits.hpp"

#include <algorithm>

#include "report/run_outlook.hpp"

namespace stepcast {

Watts peak_power(const Prediction& forecast) {
  const std::optional<Watts> phase = forecast.outlook ? forecast.outlook->facility.phase_peak : std::nullopt;
  return std::max(forecast.peak_power, phase.value_or(Watts(0)));
}

LimitedFigures limited_figures(const Prediction& forecast, std::optional<double> expected) {
  LimitedFigures out;
  out.peak_power = peak_power(forecast);
  out.average_power = forecast.average_power;
  out.cost_rate = forecast.cost_rate;
  out.goodput = expected;
  if (!expected && forecast.outlook) out.goodput = forecast.outlook->goodput.mean;
  out.run_time = forecast.time_to_train;
  out.run_cost = forecast.run_cost;
  return out;
}

std::optional<Refusal> broken_limit(const PlanConstraints& limits, const LimitedFigures& figures, double wider) {
  const double reach = 1 + wider;
  if (limits.power && (wider > 0 ? figures.average_power : figures.peak_power) > *limits.power)
    return Refusal(Rejection::over_power, figures.peak_power.value());
  if ((limits.budget || limits.budget_of_run) && !figures.cost_rate) return Refusal(Rejection::price_unknown);
  if (limits.budget && *figures.cost_rate - wider * figures.electricity_rate > *limits.budget)
    return Refusal(Rejection::over_budget, figures.cost_rate->value());
  // The limit is on what may be lost.
  if (limits.minimum_goodput_percent && figures.goodput &&
      *figures.goodput < 1 - (1 - *limits.minimum_goodput_percent / 100) * reach)
    return Refusal(Rejection::low_goodput, -*figures.goodput);
  if (limits.deadline && !figures.run_time) return Refusal(Rejection::past_deadline);
  if (limits.deadline && *figures.run_time > *limits.deadline * reach)
    return Refusal(Rejection::past_deadline, figures.run_time->value());
  if (limits.budget_of_run && !figures.run_cost) return Refusal(Rejection::over_budget_of_run);
  if (limits.budget_of_run && *figures.run_cost > *limits.budget_of_run * reach)
    return Refusal(Rejection::over_budget_of_run, figures.run_cost->value());
  return std::nullopt;
}

Rejection when_simulated(Rejection reason) {
  switch (reason) {
    case Rejection::over_budget:
      return Rejection::simulated_over_budget;
    case Rejection::over_budget_of_run:
      return Rejection::simulated_over_budget_of_run;
    case Rejection::past_deadline:
      return Rejection::simulated_past_deadline;
    case Rejection::low_goodput:
      return Rejection::simulated_low_goodput;
    case Rejection::over_power:
      return Rejection::simulated_over_power;
    default:
      return reason;
  }
}

}  // namespace stepcast
