#pragma once

#include "planner/option.hpp"
#include "planner/question.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// What a question's limits are about. Unknown is what no limit asks for, and what nothing is known of.
struct LimitedFigures {
  Watts peak_power;                           ///< at the meter
  Watts average_power;                        ///< at the meter
  std::optional<DollarsPerSecond> cost_rate;  ///< null: no price is known
  DollarsPerSecond electricity_rate;          ///< of it, what is paid for the average power
  std::optional<double> goodput;
  std::optional<Seconds> run_time;  ///< null: the run never ends
  std::optional<Dollars> run_cost;
};

/// Of a forecast's steps, or of the phase that peaks higher.
Watts peak_power(const Prediction& forecast);

/// Those of a forecast: what is shown of an option is what its limits are checked on; but goodput is Daly's formula, as
/// in the search (`expected`), for few interruptions a trial make the mean of trials one of chance. Without a formula
/// it is that mean.
LimitedFigures limited_figures(const Prediction& forecast, std::optional<double> expected);

/// The first limit that is broken, with limits wider by a share of them (negative: narrower); none where all are kept.
/// Of a month's cost only electricity follows the step time. The closed form's peak of power is that of devices which
/// all compute products at once, the most that a simulation may find; the least is the average.
std::optional<Refusal> broken_limit(const PlanConstraints& limits, const LimitedFigures& figures, double wider = 0);

/// The reason that says that it was found by simulation.
Rejection when_simulated(Rejection reason);

}  // namespace stepcast
