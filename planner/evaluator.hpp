#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "models/parallelism/lowering.hpp"
#include "models/scenario/variants.hpp"
#include "planner/family.hpp"
#include "planner/limits.hpp"
#include "planner/point.hpp"
#include "planner/space.hpp"

namespace stepcast {

/// A lower bound on an option's objectives, by what its layers alone take; true if it is too slow to be costed.
using TooSlow = std::function<bool(const Option&, const ObjectiveValues& least)>;

/// The closed form of one family's options. For one thread.
class Evaluator {
 public:
  /// Throws InputError when the family cannot be; a question that was read has none such.
  Evaluator(const PlanQuestion& question, const FamilySpec& family, const Catalog& catalog);

  [[nodiscard]] const Space& space() const { return *space_; }
  [[nodiscard]] const Scenario& shared() const { return variants_.shared(); }
  [[nodiscard]] const FamilyFacts& facts() const { return facts_; }
  /// Why no option of the family can be an answer, if its cluster alone says so.
  [[nodiscard]] std::optional<Refusal> ruled_out() const;

  /// Figures of an option, or why it is none; `too_slow` is asked once memory fits. Where the option will be simulated,
  /// limits that it breaks by no more than the closed form may be off do not rule it out.
  std::variant<PlanFigures, Refusal> evaluate(const Option& option, const TooSlow& too_slow,
                                              Fidelity forecast = Fidelity::analytic);
  /// The option's whole scenario; null when a rule forbids it.
  const Scenario* scenario(const Option& option);
  /// Which rules forbid a strategy of the family; none where it is legal.
  std::vector<Fault> faults_of(const StrategySpec& strategy, long batch);

 private:
  /// A predicted step, and the job whose run consists of such steps.
  struct RunStep {
    const Job& job;
    Seconds time;
    Watts device_power;
  };

  /// What a run takes with what it loses; of one that states no work only its goodput is known.
  struct RunFigures {
    double goodput = 1;
    double work = 0;  ///< as in PlanFigures
    Seconds time;
    Joules energy;
    std::optional<Dollars> cost;
  };

  /// Of a step alone.
  [[nodiscard]] ObjectiveValues objectives(Seconds step, Watts power, long batch) const;
  /// Of a run's steps, when it loses nothing: no run of such steps has less (Evaluator::steps_bound_run_).
  [[nodiscard]] ObjectiveValues least_objectives(Seconds step, Watts power, const Scenario& scenario) const;
  /// Those of the step, with the run's in their places where it states work.
  [[nodiscard]] ObjectiveValues with_run(ObjectiveValues step, const RunFigures& run) const;
  /// As far as a limit asks for them. `run`: null where none does.
  [[nodiscard]] LimitedFigures limited_figures(const PlanFigures& figures, const RunStep& step,
                                               const std::optional<RunFigures>& run) const;
  [[nodiscard]] bool limits_ask_for_run() const;
  [[nodiscard]] RunFigures run_figures(const RunStep& step) const;
  /// An option of a run whose phases differ, with their scenarios; null where the option does not allow for one.
  [[nodiscard]] std::shared_ptr<const Scenario> with_phases(const Scenario& scenario) const;
  /// Of the whole cluster and its network for a mean power per device.
  [[nodiscard]] Watts at_meter(Watts per_device) const;
  /// Why a phase of a run does not fit; null where all do.
  [[nodiscard]] std::optional<Refusal> phase_too_large(const Scenario& whole) const;
  /// Least memory that has to be free of a device.
  [[nodiscard]] Bytes allowed(Bytes capacity) const;

  const PlanQuestion& question_;
  const Catalog& catalog_;
  ScenarioVariants variants_;
  Lowering lowering_;
  FamilyFacts facts_;
  std::unique_ptr<Space> space_;
  Watts least_power_;  ///< of the cluster at the meter, all devices idle
  bool states_work_;   ///< so that objectives are the run's
  /// Whether all training is on steps of the option's own; others have a time that these say nothing of.
  bool steps_bound_run_;
};

}  // namespace stepcast
