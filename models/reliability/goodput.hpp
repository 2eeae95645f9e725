#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/reliability/checkpoint.hpp"
#include "models/reliability/failure_rates.hpp"
#include "models/reliability/interval.hpp"

namespace stepcast {

/// Everything that a simulated run of a job needs to know of what goes wrong.
struct RunRisk {
  int nodes = 1;       ///< whose loss interrupts the job: those that train and those of parameter servers; of a
                       ///< federation, the server
  FailureRates rates;  ///< of one node
  CheckpointCost checkpoint;
  Seconds interval;            ///< of training between two checkpoints
  double round_steps = 1;      ///< between two instants at which there is one model to save
  bool saves = true;           ///< false: every interruption starts the run anew
  Seconds detection, restart;  ///< restart: without reading the checkpoint
  Seconds repair;              ///< until a node that was taken out is back
  int spares = 0;              ///< nodes that stand ready
  bool endless_spares = true;  ///< another node is always to be had
  bool elastic = false;        ///< goes on with fewer nodes where spares are out
  Seconds spot_notice;         ///< a checkpoint that is written within it loses nothing
  double slow_speed = 1;       ///< of a node that has turned slow, over a healthy one's
  Seconds slow_found;          ///< for which a slow node stays, until it is found
  Seconds flap;                ///< for which a link that flaps holds the job back
  Seconds work;                ///< of the run, at full speed without any of this
};

/// How a run spent its time, as shares of it; `useful` is the goodput.
struct RunShares {
  /// Lost work: done again. Detection, restart: of interruptions. Waiting: for a node.
  double useful = 1, saving = 0, lost_work = 0, detection = 0, restart = 0, waiting = 0;
  double slow_nodes = 0, link_flaps = 0, missing_nodes = 0;  ///< at a pace below a healthy full cluster's
  double interruptions = 0;                                  ///< number
  Seconds time;                                              ///< of the whole run; infinite where it never ends
  /// While devices idle.
  [[nodiscard]] double standing() const { return saving + detection + restart + waiting; }
  /// While devices wait in a collective.
  [[nodiscard]] double held_back() const { return slow_nodes + link_flaps; }
};
constexpr double RunShares::*kRunShares[] = {&RunShares::useful,     &RunShares::saving,     &RunShares::lost_work,
                                             &RunShares::detection,  &RunShares::restart,    &RunShares::waiting,
                                             &RunShares::slow_nodes, &RunShares::link_flaps, &RunShares::missing_nodes};

/// Seeded Monte Carlo of whole runs, one a trial.
struct GoodputTrials {
  std::vector<RunShares> trials;  ///< in order of their number
  /// Each trial with the same weight.
  [[nodiscard]] RunShares mean() const;
  /// The time of all trials, and its shares: long runs weigh more, so that what a run takes is its work over `useful`.
  [[nodiscard]] RunShares together() const;
  /// Quantile of the goodput over trials, 0 to 1; linear between neighbours.
  [[nodiscard]] double quantile(double share) const;
};

/// What a job risks, by the scenario; `step`: time of one, below whose round nobody saves; `work`: of all of them.
RunRisk run_risk(const Job& job, const Catalog& catalog, Seconds step, Seconds work);

/// Throws InputError, without a file, where `run.checkpoint.interval_s` is shorter than checkpoints can follow each
/// other: a round of steps, or an asynchronous one until it is written.
void check_interval(const RunRisk& risk);

/// The same as one rate, for the formulas.
RunHazard hazard_of(const RunRisk& risk);

/// Goodput by Daly's formula: work over its mean time. Whole intervals take what daly_goodput says, what is left after
/// the last checkpoint unsaved_time: a run shorter than an interval, or one that saves nothing, consists of that alone.
double formula_goodput(const RunRisk& risk);

/// How a run spends its time, expected: goodput is Daly's (formula_goodput) at the pace that slow nodes and links
/// that flap leave. Slow spells begin at random and last equally long, longer than an interval, so that some node is
/// slow for 1 − e^(−λd) of the time (the busy share of an M/D/∞ queue) and longer where recoveries are as long as
/// spells. Announced interruptions cost no work where a checkpoint is written in time; where spares run out the run
/// stands (Erlang's loss formula, of long runs). Null where there is no formula: elastic runs whose spares run out, and
/// runs that save nothing while nodes turn slow.
std::optional<RunShares> expected_shares(const RunRisk& risk);

/// One run. Interruptions come at exponential times, during recovery too; lost is what was trained since the last safe
/// checkpoint. Trials draw from streams of their own, made of the seed and the trial's number.
RunShares simulate_run(const RunRisk& risk, std::uint64_t seed, int trial);

/// `count` runs, by `workers` threads; the result does not depend on how many. `first`: number of the first trial.
GoodputTrials simulate_runs(const RunRisk& risk, std::uint64_t seed, int count, int workers = 1, int first = 0);

/// Runs that consist of these parts, trial by trial.
GoodputTrials one_after_another(const std::vector<GoodputTrials>& parts);

}  // namespace stepcast
