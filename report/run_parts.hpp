#pragma once

#include <optional>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/phases/run_phases.hpp"
#include "models/power/facility.hpp"
#include "models/power/power.hpp"
#include "models/reliability/goodput.hpp"
#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// Phases of a run that are interrupted alike and save alike. Start-up and compilation are in none: they happen at the
/// beginning, the restart time holds them afterwards.
struct RunPart {
  RunRisk risk;                     ///< its work: what these phases take when nothing goes wrong
  std::vector<std::size_t> phases;  ///< places among all phases
};

/// The parts in the order of their first phases; without phases the one of the scenario's horizon. `step`: time of one,
/// below which nobody saves.
std::vector<RunPart> run_parts(const Job& job, const Catalog& catalog, const std::vector<PhaseCost>& phases,
                               Seconds step);

/// The part in which most work is done.
const RunPart& main_part(const std::vector<RunPart>& parts);

/// Work of all parts over the time that it takes at a goodput of each.
double goodput_of(const std::vector<RunPart>& parts, const std::vector<double>& each);
double goodput_of(const std::vector<RunPart>& parts, const std::vector<RunShares>& each);

/// Expected shares of each part (expected_shares), or null where one of them has no formula.
std::optional<std::vector<RunShares>> expected_shares(const std::vector<RunPart>& parts);

/// What a cluster draws and costs beside the work of its devices.
struct ClusterTerms {
  PowerModel power;
  Watts fabric, helpers;                 ///< at the meter
  std::optional<DollarsPerSecond> rate;  ///< helpers' included, without electricity that is paid apart
  DollarsPerJoule electricity;           ///< of its own nodes and network; zero when rent includes it
  int helper_devices = 0;                ///< accelerators of helpers where any train, else all their devices
  /// At the meter, in closed form: the busiest state of all devices.
  [[nodiscard]] Watts peak() const { return power.cluster_at_meter(power.device_compute) + fabric + helpers; }
};
ClusterTerms cluster_terms(const Scenario& scenario, const Catalog& catalog, const FabricBill& network,
                           const std::optional<UpdateOutcome>& updates);

/// Terms of each phase: `own`, or those of its scenario and of what becomes of its updates. `updates`: of the run's
/// step, where the phase says nothing else.
std::vector<ClusterTerms> phase_terms(const std::vector<PhaseCost>& phases, const ClusterTerms& own,
                                      const Scenario& scenario, const Catalog& catalog,
                                      const std::optional<UpdateOutcome>& updates);

/// What a whole run takes, with what goes wrong.
struct RunSums {
  Seconds time, device_time;    ///< of the run; of all its devices and its helpers', in device-seconds
  std::vector<Joules> energy;   ///< of each phase, at the meter, network and helpers included
  std::optional<Dollars> cost;  ///< null where a phase's nodes have no price
  /// Of all phases.
  [[nodiscard]] Joules whole_energy() const;
};
/// `shares`: of each part. Work that is lost draws as much as work that is kept; while the job stands devices idle, and
/// while a slow node or a link holds it back they wait. A bought cluster pays for what the run draws.
RunSums run_sums(const std::vector<PhaseCost>& phases, const std::vector<RunPart>& parts,
                 const std::vector<RunShares>& shares, const std::vector<ClusterTerms>& terms);

}  // namespace stepcast
