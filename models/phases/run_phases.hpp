#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/parallelism/job.hpp"
#include "models/power/power.hpp"
#include "models/step_breakdown.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// What one phase of a run takes when nothing goes wrong.
struct PhaseCost {
  std::string name;
  PhaseKind kind = PhaseKind::train;
  double steps = 0, samples = 0, tokens = 0;
  double worth = 0;  ///< of the stated work (tokens, or samples of a model without), at the efficiency of its batch
  double times = 1;  ///< how often it occurs; the other figures are of all of them
  Seconds time;
  Seconds device_time;  ///< time × devices that the phase runs on
  Joules energy;        ///< of these devices and their nodes, at the meter
  /// Its own where `set` says that more differs than batch and sequences; null: the run's.
  std::shared_ptr<const Scenario> scenario;
  /// What becomes of its updates where its batch, its sequences or what `set` says differ; null: as in the run's step.
  std::optional<UpdateOutcome> updates;
};

/// Whether a phase's steps are others than the run's, so that it has a scenario of its own (resolve()).
bool phases_differ(const RunSpec& run);

/// The step that was predicted, for phases to be measured against.
struct PredictedStep {
  Seconds time;
  Watts device_power;  ///< mean of one device
};

/// The phases of a run in order, or the one of the stated work where the scenario names none; empty when it states no
/// work. Steps of a phase that differs are costed without simulation (closed_step), times what the predicted step takes
/// over the same. A ramp's step time is linear in its batch between its ends, and its batch linear in the samples.
/// Evaluation runs forward only (evaluation_step.hpp), in closed form. Throws InputError, without a file, where nothing
/// is left for the phase that leaves its amount out. REQUIRES the scenarios of phases that differ, as resolve() adds
/// them and ScenarioVariants does not: throws std::logic_error where they are missing.
std::vector<PhaseCost> run_phases(const Job& job, const PredictedStep& step);

/// A scenario that a training phase has for itself; of a ramp there may be two.
struct PhaseScenario {
  std::string name;  ///< the phase's, else "phase 2"
  std::shared_ptr<const Scenario> scenario;
};
/// Those of all training phases that differ from the run's in anything.
std::vector<PhaseScenario> training_scenarios(const Scenario& scenario);

}  // namespace stepcast
