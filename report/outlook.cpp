#include "report/outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "models/parallelism/offload.hpp"
#include "models/phases/run_phases.hpp"
#include "models/power/device_power.hpp"
#include "models/reliability/goodput.hpp"
#include "models/storage/input_pipeline.hpp"
#include "models/storage/storage.hpp"
#include "report/cluster_cost.hpp"
#include "report/helper_nodes.hpp"
#include "report/run_parts.hpp"

namespace stepcast {

namespace {

/// Mean of the world's grids (sites grid-world-2019: IEA), where the site does not say.
constexpr double kWorldGrid = 475;
/// Training waits for its input when that is no faster than the step, within what rounding makes of equal rates.
constexpr double kAsFast = 1.005;
/// Or when it waits for storage for more than this share of the step.
constexpr double kWaits = 0.01;
/// Of a step that waits for input, what rounding leaves to everything else at least.
constexpr double kBusyAtLeast = 1e-6;
/// A run of less goodput makes no headway that a time could be named for.
constexpr double kNeverEnds = 1e-4;
/// Supplies bridge about this long, so it is the time in which a cluster's power follows its devices
/// (power_over_time.hpp).
constexpr Seconds kRampTime = 10_ms;

template <class Q>
std::optional<Q> finite(Q value) {
  return is_finite(value) ? std::optional(value) : std::nullopt;
}

InputOutlook input_outlook(const Job& job, const Prediction& step) {
  const Scenario& scenario = *job.scenario;
  const InputPipeline pipeline = input_pipeline(scenario);
  InputOutlook out;
  out.training_samples_per_s = step.samples_per_s;
  out.decode_stated = pipeline.decode.has_value();
  out.decode_budget = decode_budget(pipeline, step.samples_per_s);
  out.cached = pipeline.cached;
  for (const InputLimit& limit : pipeline.limits)
    out.limits.push_back({std::string(name_of(limit.stage)), limit.samples_per_s, limit.words});
  const InputLimit* slowest = pipeline.slowest();
  if (slowest == nullptr) return out;
  out.slowest = name_of(slowest->stage);
  out.samples_per_s = slowest->samples_per_s;
  const auto waited = step.communication.by_dimension.find("storage");
  const Seconds exposed = waited == step.communication.by_dimension.end() ? Seconds(0) : waited->second.exposed;
  const bool waits = exposed > kWaits * step.step_time;
  const bool as_slow = slowest->samples_per_s <= step.samples_per_s * kAsFast;
  if (!as_slow && !waits) return out;
  // What training would take if it waited for no input. A stage that reads waits as often as there are stages.
  const Seconds busy = std::max(kBusyAtLeast * step.step_time, step.step_time - scenario.degrees.pp * exposed);
  const double wanted = step.samples_per_s * (step.step_time / busy);
  if (!as_slow && slowest->samples_per_s > wanted * kAsFast) {
    // Every stage by itself is faster than training: reads wait where they share a way with training's own traffic.
    if (pipeline.reads()) out.bound = name_of(InputStage::storage);
    return out;
  }
  out.bound = out.slowest;
  out.advice = input_advice(scenario, pipeline, std::max(wanted, kAsFast * slowest->samples_per_s));
  return out;
}

CheckpointOutlook checkpoint_outlook(const Scenario& scenario, const RunRisk& risk) {
  const CheckpointCost& cost = risk.checkpoint;
  CheckpointOutlook out;
  out.kind = name_of(cost.kind);
  out.target = cost.local ? "local" : "shared";
  out.size = cost.size;
  out.stall = cost.stall;
  out.write = cost.write;
  out.read = cost.read;
  out.interval_stated = scenario.spec.run.checkpoint.interval.has_value();
  out.basis = cost.basis;
  if (!risk.saves) return out;
  out.interval = finite(risk.interval);
  out.young = finite(young_interval(hazard_of(risk)));
  out.daly = finite(daly_interval(hazard_of(risk)));
  return out;
}

// An interruption takes some 50 ns to simulate, a thread as long to start as thousands of them.
constexpr double kInterruptionsForThreads = 20'000;
constexpr int kMostThreads = 4;

/// Of one run, about.
double interruptions_of(const RunRisk& risk) { return hazard_of(risk).interruptions * risk.work; }

std::vector<RunPart> checked_parts(const Job& job, const Catalog& catalog, const std::vector<PhaseCost>& phases,
                                   Seconds step) {
  std::vector<RunPart> out = run_parts(job, catalog, phases, step);
  for (const RunPart& part : out) check_interval(part.risk);
  return out;
}

/// Trials of each part of a run, one part's numbered on from those of the part before.
std::vector<GoodputTrials> trials_of(const std::vector<RunPart>& parts, const RunSpec& run) {
  std::vector<GoodputTrials> out;
  const int trials = run.reliability.trials;
  for (const RunPart& part : parts) {
    // Trials have streams of their own, so their number of threads changes nothing. Short ones are not worth a thread.
    const bool many = interruptions_of(part.risk) * trials > kInterruptionsForThreads;
    const int workers = many ? std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads) : 1;
    out.push_back(simulate_runs(part.risk, static_cast<std::uint64_t>(run.seed), trials, workers,
                                trials * static_cast<int>(out.size())));
  }
  return out;
}

std::vector<RunShares> together(const std::vector<GoodputTrials>& of_parts) {
  std::vector<RunShares> out;
  out.reserve(of_parts.size());
  for (const GoodputTrials& trials : of_parts) out.push_back(trials.together());
  return out;
}

GoodputOutlook goodput_outlook(const std::vector<RunPart>& parts, const GoodputTrials& trials) {
  const RunShares mean = trials.mean();
  GoodputOutlook out;
  out.mean = mean.useful;
  out.p05 = trials.quantile(0.05);
  out.p95 = trials.quantile(0.95);
  std::vector<double> formulas;
  double interruptions = 0;
  for (const RunPart& part : parts) {
    formulas.push_back(formula_goodput(part.risk));
    interruptions += interruptions_of(part.risk);
    out.horizon += part.risk.work;
  }
  out.formula = goodput_of(parts, formulas);
  out.interruptions = mean.interruptions;
  if (interruptions > 0) out.between_interruptions = out.horizon / interruptions;
  out.lost_to = {{"checkpoints", mean.saving},    {"lost_work", mean.lost_work},
                 {"detection", mean.detection},   {"restart", mean.restart},
                 {"waiting", mean.waiting},       {"slow_nodes", mean.slow_nodes},
                 {"link_flaps", mean.link_flaps}, {"missing_nodes", mean.missing_nodes}};
  out.basis = main_part(parts).risk.rates.basis;
  return out;
}

/// Nodes of one kind in racks of their own, at their devices' peak.
void house(FacilityOutlook& out, const NodeKind& kind, const PowerModel& power, Watts device_peak) {
  const Watts devices_peak = power.devices_per_node * device_peak;
  const Watts inside_peak = power.node_inside(devices_peak);
  if (const auto spare = spare_supplies(*kind.scenario, inside_peak))
    out.spare_supplies = std::min(out.spare_supplies.value_or(*spare), *spare);
  const std::optional<Racks> racks = racks_of(kind, power.node_at_plug(devices_peak));
  if (racks) {
    out.nodes_per_rack = std::max(out.nodes_per_rack.value_or(0), racks->nodes_per_rack);
    out.racks = out.racks.value_or(0) + racks->racks;
    out.rack = std::max(out.rack.value_or(Watts(0)), racks->rack);
  }
  const std::vector<std::string> exceeded = exceeded_by_nodes(*kind.scenario, racks, inside_peak);
  out.exceeded.insert(out.exceeded.end(), exceeded.begin(), exceeded.end());
}

/// Nodes that train.
void house(FacilityOutlook& out, const NodeKind& kind) {
  const ClockState clocks = clock_state(*kind.scenario);
  if (clocks.limited) out.clock_share = std::min(out.clock_share.value_or(1), clocks.products);
  const PowerModel power = power_of_own_kind(*kind.scenario);
  house(out, kind, power, power.device_compute);
}

/// What the nodes of a scenario peak at, in their racks and together, and which limits that exceeds; `power`: the
/// scenario's.
FacilityOutlook peaks_of(const Scenario& scenario, const PowerModel& power, const std::vector<HelperNodes>& helpers,
                         Watts site_peak) {
  FacilityOutlook out;
  for (const NodeKind& kind : node_kinds(scenario)) house(out, kind);
  for (const HelperNodes& helper : helpers)
    house(out, {&helper.scenario, helper.scenario.spec.cluster.nodes}, power_of_own_kind(helper.scenario),
          helper.device_peak);
  // At a barrier or a checkpoint every device falls from its busiest state to waiting, and comes back.
  const Watts fall = power.cluster_at_meter(power.device_compute) - power.cluster_at_meter(power.device_waiting);
  out.swing_kW_per_s = std::max(0.0, fall.in(1_kW) / kRampTime.value());
  const std::vector<std::string> of_site = exceeded_by_site(scenario, site_peak, out.swing_kW_per_s);
  out.exceeded.insert(out.exceeded.end(), of_site.begin(), of_site.end());
  return out;
}

/// Phases on other nodes, or under other caps, have limits and peaks of their own: those of the closed form, times what
/// the step's peak is over the same.
void add_phases(FacilityOutlook& out, const std::vector<PhaseCost>& phases, const std::vector<ClusterTerms>& terms,
                const ClusterTerms& step, Watts step_peak, const Catalog& catalog) {
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (!phases[i].scenario || phases[i].kind != PhaseKind::train) continue;
    const Watts peak = terms[i].peak() * (step_peak / step.peak());
    if (peak > out.phase_peak.value_or(step_peak) * (1 + 1e-9)) {
      out.phase_peak = peak;
      out.peak_phase = phases[i].name;
    }
    const std::vector<HelperNodes> helpers = helper_nodes(*phases[i].scenario, catalog, phases[i].updates);
    for (const std::string& limit : peaks_of(*phases[i].scenario, terms[i].power, helpers, peak).exceeded)
      if (std::find(out.exceeded.begin(), out.exceeded.end(), limit) == out.exceeded.end())
        out.exceeded.push_back(fmt::format("in phase {}, {}", phases[i].name, limit));
  }
}

FacilityOutlook facility_outlook(const Scenario& scenario, const Prediction& step, const PowerModel& power,
                                 const std::vector<HelperNodes>& helpers, const FabricBill& fabric) {
  FacilityOutlook out = peaks_of(scenario, power, helpers, step.peak_power);
  if (fabric.power) out.fabric = *fabric.power * power.pue;
  out.pue = power.pue;
  out.flops_per_W = step.model_tflops_per_gpu * 1e12 * step.devices / step.average_power.value();
  return out;
}

double grid_of(const Site* site) {
  if (site && site->grid_gCO2_per_kWh) return *site->grid_gCO2_per_kWh;
  return site && site->country_grid_gCO2_per_kWh ? *site->country_grid_gCO2_per_kWh : kWorldGrid;
}

CarbonOutlook carbon_outlook(const Scenario& scenario, const Prediction& step) {
  CarbonOutlook out;
  const Site* site = scenario.site;
  const bool own = site && site->grid_gCO2_per_kWh;
  const bool country = !own && site && site->country_grid_gCO2_per_kWh;
  out.grid_g_per_kWh = grid_of(site);
  out.basis = own       ? fmt::format("grid of {}", site->id)
              : country ? fmt::format("grid of {}'s country", site->id)
                        : std::string("mean of the world's grids, 2019: no site states one");
  out.per_step_g = step.energy_per_step.in(1_kWh) * out.grid_g_per_kWh;
  return out;
}

/// Each phase's electricity comes from its own site's grid.
double carbon_kg(const RunSums& sums, const std::vector<PhaseCost>& phases, const Site* site) {
  double grams = 0;
  for (std::size_t i = 0; i < phases.size(); ++i)
    grams += sums.energy[i].in(1_kWh) * grid_of(phases[i].scenario ? phases[i].scenario->site : site);
  return grams / 1000;
}

/// Of what the phases train on, by how much it is more than at the batch for which the work was stated.
double samples_over_stated(const std::vector<PhaseCost>& phases) {
  double trained = 0, worth = 0;
  for (const PhaseCost& phase : phases) {
    if (phase.kind != PhaseKind::train) continue;
    trained += phase.tokens > 0 ? phase.tokens : phase.samples;
    worth += phase.worth;
  }
  return worth > 0 ? trained / worth : 1;
}

RunTotals totals(const std::vector<PhaseCost>& phases, const std::vector<RunPart>& parts, const RunSums& sums,
                 const GoodputOutlook& goodput, double share) {
  RunTotals out;
  out.time = sums.time;
  Seconds all, work;
  for (const PhaseCost& phase : phases) all += phase.time;
  for (const RunPart& part : parts) work += part.risk.work;
  out.time_low = all - work + work * (std::exp(-share) / goodput.p95);
  out.time_high = all - work + work * (std::exp(share) / goodput.p05);
  out.device_hours = sums.device_time.in(1_h);
  out.energy = sums.whole_energy();
  out.cost = sums.cost;
  if (sums.cost) {
    out.cost_low = *sums.cost * (out.time_low / out.time);
    out.cost_high = *sums.cost * (out.time_high / out.time);
  }
  out.work_factor = samples_over_stated(phases);
  return out;
}

/// What the cluster costs with the nodes that help it, or whose price is missing for that.
void add_cost(Prediction& step, const Scenario& scenario, const FabricBill& fabric,
              const std::vector<HelperNodes>& helpers, const Catalog& catalog) {
  if (const auto cost = cluster_cost(scenario, catalog, helpers, step.average_power, fabric.price)) {
    step.cost_rate = cost->total();
    step.cost_basis = cost->basis();
    return;
  }
  step.assumptions.push_back(fmt::format("no cost, as the catalogue has no price of {} on the scenario's terms",
                                         fmt::join(nodes_without_price(scenario, catalog, helpers), ", nor of ")));
}

/// The network's power belongs to the cluster's, and its price to what a bought cluster costs.
void add_network(Prediction& step, const Scenario& scenario, const PowerModel& power, const FabricBill& fabric,
                 const std::vector<HelperNodes>& helpers, const Catalog& catalog) {
  if (fabric.power) {
    step.average_power += *fabric.power * power.pue;
    step.peak_power += *fabric.power * power.pue;
  }
  if (!fabric.estimated.empty())
    step.assumptions.push_back(
        fmt::format("estimated of the network: {}, as of the catalogue's others by ports and rate",
                    fmt::join(fabric.estimated, ", ")));
  if (!fabric.unknown.empty())
    step.assumptions.push_back(
        fmt::format("left out of the network's power and price, as unknown: {}", fmt::join(fabric.unknown, ", ")));
  for (const std::string& words : fabric.assumed)
    step.assumptions.push_back("of the network's power and price: " + words);
  step.energy_per_step = step.average_power * step.step_time;
  step.energy_per_sample = step.energy_per_step / static_cast<double>(scenario.spec.workload.global_batch);
  add_cost(step, scenario, fabric, helpers, catalog);
}

/// Network and helpers draw as long as a phase lasts.
std::vector<PhaseOutlook> phases_outlook(const std::vector<PhaseCost>& phases, const std::vector<ClusterTerms>& terms) {
  std::vector<PhaseOutlook> out;
  out.reserve(phases.size());
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const PhaseCost& phase = phases[i];
    out.push_back({phase.name, std::string(name_of(phase.kind)), phase.times, phase.steps, phase.samples, phase.tokens,
                   phase.time, phase.energy + (terms[i].fabric + terms[i].helpers) * phase.time});
  }
  return out;
}

}  // namespace

void add_run_figures(Prediction& step, const Job& job, const Catalog& catalog, const FabricBill& network) {
  const Scenario& scenario = *job.scenario;
  add_network(step, scenario, power_model(scenario), network, helper_nodes(scenario, catalog, step.updates), catalog);
  const std::vector<PhaseCost> phases = run_phases(job, {step.step_time, step.device_average_power});
  if (phases.empty()) return;
  const std::vector<RunPart> parts = checked_parts(job, catalog, phases, step.step_time);
  std::optional<std::vector<RunShares>> shares = expected_shares(parts);
  if (!shares) shares = together(trials_of(parts, scenario.spec.run));
  for (const RunShares& share : *shares)
    if (!(share.useful > kNeverEnds)) return;
  const ClusterTerms own = cluster_terms(scenario, catalog, network, step.updates);
  const RunSums sums = run_sums(phases, parts, *shares, phase_terms(phases, own, scenario, catalog, step.updates));
  step.time_to_train = sums.time;
  step.run_cost = sums.cost;
}

void add_outlook(Prediction& step, const Job& job, const Catalog& catalog) {
  const Scenario& scenario = *job.scenario;
  const PowerModel power = power_model(scenario);
  const FabricBill fabric = fabric_bill(scenario, catalog);
  const std::vector<HelperNodes> helpers = helper_nodes(scenario, catalog, step.updates);
  add_network(step, scenario, power, fabric, helpers, catalog);
  const std::vector<PhaseCost> phases = run_phases(job, {step.step_time, step.device_average_power});
  const std::vector<RunPart> parts = checked_parts(job, catalog, phases, step.step_time);
  for (const std::string& words : main_part(parts).risk.checkpoint.remarks) step.assumptions.push_back(words);
  const InputPipeline pipeline = input_pipeline(scenario);
  if (!pipeline.assumed.empty()) step.assumptions.push_back(pipeline.assumed);
  if (auto words = beyond_drives(scenario, pipeline)) step.assumptions.push_back(std::move(*words));
  if (auto words = states_beyond_drives(job)) step.assumptions.push_back(std::move(*words));
  const std::vector<GoodputTrials> trials = trials_of(parts, scenario.spec.run);
  const std::vector<RunShares> shares = together(trials);
  const ClusterTerms own = cluster_terms(scenario, catalog, fabric, step.updates);
  const std::vector<ClusterTerms> terms = phase_terms(phases, own, scenario, catalog, step.updates);
  if (const int spares = scenario.spec.run.reliability.spares.value_or(0); spares > 0)
    step.assumptions.push_back(fmt::format("{} in reserve: neither their price nor their power is counted",
                                           spares == 1 ? std::string("one node") : fmt::format("{} nodes", spares)));
  RunOutlook out;
  out.goodput = goodput_outlook(parts, one_after_another(trials));
  out.checkpoint = checkpoint_outlook(scenario, main_part(parts).risk);
  out.input = input_outlook(job, step);
  out.phases = phases_outlook(phases, terms);
  out.facility = facility_outlook(scenario, step, power, helpers, fabric);
  add_phases(out.facility, phases, terms, own, step.peak_power, catalog);
  out.carbon = carbon_outlook(scenario, step);
  const bool ends = out.goodput.p05 > kNeverEnds && std::all_of(shares.begin(), shares.end(), [](const RunShares& s) {
                      return s.useful > kNeverEnds && is_finite(s.time);
                    });
  if (!phases.empty() && !ends)
    step.assumptions.emplace_back(
        "the run is interrupted so often that it would hardly end: no time and no cost of it");
  if (!phases.empty() && ends) {
    const RunSums sums = run_sums(phases, parts, shares, terms);
    out.run = totals(phases, parts, sums, out.goodput, step.expected_error.share_80);
    out.carbon.run_kg = carbon_kg(sums, phases, scenario.site);
    step.time_to_train = out.run->time;
    step.run_cost = out.run->cost;
  }
  step.outlook = std::make_shared<const RunOutlook>(std::move(out));
}

}  // namespace stepcast
