#include "report/outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "models/cost/cost.hpp"
#include "models/phases/run_phases.hpp"
#include "models/power/device_power.hpp"
#include "models/reliability/goodput.hpp"
#include "models/storage/input_pipeline.hpp"
#include "models/storage/storage.hpp"
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
  if (slowest->samples_per_s > step.samples_per_s * kAsFast && !waits) return out;
  out.bound = out.slowest;
  // What training would take if it waited for no input. A stage that reads waits as often as there are stages.
  const Seconds busy = std::max(kBusyAtLeast * step.step_time, step.step_time - scenario.degrees.pp * exposed);
  const double wanted = step.samples_per_s * (step.step_time / busy);
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

GoodputOutlook goodput_outlook(const Scenario& scenario, const RunRisk& risk, RunShares& mean) {
  const RunSpec& run = scenario.spec.run;
  // Trials have streams of their own, so their number of threads changes nothing. Short ones are not worth a thread.
  const bool many = interruptions_of(risk) * run.reliability.trials > kInterruptionsForThreads;
  const int workers = many ? std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads) : 1;
  const GoodputTrials trials =
      simulate_runs(risk, static_cast<std::uint64_t>(run.seed), run.reliability.trials, workers);
  mean = trials.mean();
  GoodputOutlook out;
  out.mean = mean.useful;
  out.p05 = trials.quantile(0.05);
  out.p95 = trials.quantile(0.95);
  const RunHazard hazard = hazard_of(risk);
  out.formula = risk.saves ? daly_goodput(hazard, risk.interval) : 0;
  if (!risk.saves && !(hazard.interruptions > PerSecond(0))) out.formula = 1;
  out.interruptions = mean.interruptions;
  if (hazard.interruptions > PerSecond(0)) out.between_interruptions = 1.0 / hazard.interruptions;
  out.lost_to = {{"checkpoints", mean.saving}, {"lost_work", mean.lost_work}, {"detection", mean.detection},
                 {"restart", mean.restart},    {"waiting", mean.waiting},     {"slow_nodes", mean.slowed}};
  out.horizon = risk.work;
  out.basis = risk.rates.basis;
  return out;
}

/// Nodes of one kind in racks of their own.
void house(FacilityOutlook& out, const NodeKind& kind) {
  const ClockState clocks = clock_state(*kind.scenario);
  if (clocks.limited) out.clock_share = std::min(out.clock_share.value_or(1), clocks.products);
  const PowerModel power = power_of_own_kind(*kind.scenario);
  const Watts devices_peak = power.devices_per_node * power.device_compute;
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

FacilityOutlook facility_outlook(const Job& job, const Prediction& step, const PowerModel& power,
                                 const FabricBill& fabric) {
  const Scenario& scenario = *job.scenario;
  FacilityOutlook out;
  if (fabric.power) out.fabric = *fabric.power * power.pue;
  out.pue = power.pue;
  out.flops_per_W = step.model_tflops_per_gpu * 1e12 * step.devices / step.average_power.value();
  for (const NodeKind& kind : node_kinds(scenario)) house(out, kind);
  // At a barrier or a checkpoint every device falls from its busiest state to waiting, and comes back.
  const Watts fall = power.cluster_at_meter(power.device_compute) - power.cluster_at_meter(power.device_waiting);
  out.swing_kW_per_s = std::max(0.0, fall.in(1_kW) / kRampTime.value());
  const std::vector<std::string> of_site = exceeded_by_site(scenario, step.peak_power, out.swing_kW_per_s);
  out.exceeded.insert(out.exceeded.end(), of_site.begin(), of_site.end());
  return out;
}

CarbonOutlook carbon_outlook(const Scenario& scenario, const Prediction& step, const std::optional<RunTotals>& run) {
  CarbonOutlook out;
  const Site* site = scenario.site;
  const bool own = site && site->grid_gCO2_per_kWh;
  const bool country = !own && site && site->country_grid_gCO2_per_kWh;
  out.grid_g_per_kWh = own ? *site->grid_gCO2_per_kWh : country ? *site->country_grid_gCO2_per_kWh : kWorldGrid;
  out.basis = own       ? fmt::format("grid of {}", site->id)
              : country ? fmt::format("grid of {}'s country", site->id)
                        : std::string("mean of the world's grids, 2019: no site states one");
  out.per_step_g = step.energy_per_step.in(1_kWh) * out.grid_g_per_kWh;
  if (run) out.run_kg = run->energy.in(1_kWh) * out.grid_g_per_kWh / 1000;
  return out;
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

RunTotals totals(const std::vector<PhaseCost>& phases, const RunShares& mean, const GoodputOutlook& goodput,
                 const Prediction& step, const PowerModel& power, Watts beside) {
  const RunParts parts(phases);
  const auto& [once, work] = parts;
  const double share = step.expected_error.share_80;
  RunTotals out;
  out.time = parts.time(goodput.mean);
  out.time_low = once.time + work.time * (std::exp(-share) / goodput.p95);
  out.time_high = once.time + work.time * (std::exp(share) / goodput.p05);
  const Seconds device_time = parts.device_time(goodput.mean);
  out.device_hours = device_time.in(1_h);
  // Work that is lost draws as much as work that is kept; while the job stands, devices idle.
  const double idle = mean.saving + mean.detection + mean.restart + mean.waiting;
  const double again = std::max(0.0, 1 - mean.useful - idle) / mean.useful;
  const double of_cluster = device_time / (out.time * step.devices);
  out.energy = once.energy + work.energy * (1 + again) +
               power.cluster_at_meter(power.device_idle) * (work.time / goodput.mean * (idle * of_cluster)) +
               beside * out.time;
  if (step.cost_rate) {
    const DollarsPerSecond rate = *step.cost_rate * of_cluster;
    out.cost = rate * out.time;
    out.cost_low = rate * out.time_low;
    out.cost_high = rate * out.time_high;
  }
  out.work_factor = samples_over_stated(phases);
  return out;
}

/// What the cluster costs with the nodes that help it; `own`: what its own nodes and network draw.
void add_cost(Prediction& step, const Scenario& scenario, const FabricBill& fabric,
              const std::vector<HelperNodes>& helpers, Watts own, const Catalog& catalog) {
  const std::optional<CostRate> rate = cost_rate(scenario, catalog, own, fabric.price);
  if (!rate) return;
  step.cost_rate = rate->total() + cost_of(helpers, catalog);
  step.cost_basis = rate->basis;
  for (const HelperNodes& helper : helpers) {
    const std::optional<CostRate> more = cost_rate(helper.scenario, catalog, helper.draw);
    step.cost_basis += more
                           ? fmt::format("; {} {}", helper.what, more->basis)
                           : fmt::format("; without its {}, as {} has no price", helper.what, helper.scenario.node->id);
  }
}

/// The network's power belongs to the cluster's, and its price to what a bought cluster costs.
void add_network(Prediction& step, const Scenario& scenario, const PowerModel& power, const FabricBill& fabric,
                 const std::vector<HelperNodes>& helpers, const Catalog& catalog) {
  if (fabric.power) {
    step.average_power += *fabric.power * power.pue;
    step.peak_power += *fabric.power * power.pue;
  }
  for (const std::string& part : fabric.unknown)
    step.assumptions.push_back(fmt::format("of the network's power and price nothing is known of: {}", part));
  step.energy_per_step = step.average_power * step.step_time;
  step.energy_per_sample = step.energy_per_step / static_cast<double>(scenario.spec.workload.global_batch);
  add_cost(step, scenario, fabric, helpers, step.average_power - draw_of(helpers), catalog);
}

std::vector<PhaseOutlook> phases_outlook(const std::vector<PhaseCost>& phases) {
  std::vector<PhaseOutlook> out;
  out.reserve(phases.size());
  for (const PhaseCost& phase : phases)
    out.push_back({phase.name, std::string(name_of(phase.kind)), phase.times, phase.steps, phase.samples, phase.tokens,
                   phase.time, phase.energy});
  return out;
}

/// Work that the Monte Carlo runs: that of the phases, else the stated horizon.
Seconds work_of(const std::vector<PhaseCost>& phases, const Scenario& scenario) {
  Seconds work;
  for (const PhaseCost& phase : phases)
    if (phase.kind == PhaseKind::train || phase.kind == PhaseKind::evaluation) work += phase.time;
  return work > Seconds(0) ? work : scenario.spec.run.reliability.horizon;
}

/// Share of the run's time that is useful, in the mean.
double mean_goodput(const RunRisk& risk, const RunSpec& run) {
  if (const std::optional<double> expected = expected_goodput(risk)) return *expected;
  return simulate_runs(risk, static_cast<std::uint64_t>(run.seed), run.reliability.trials).mean().useful;
}

}  // namespace

void add_run_figures(Prediction& step, const Job& job, const Catalog& catalog, const FabricBill& network) {
  const Scenario& scenario = *job.scenario;
  add_network(step, scenario, power_model(scenario), network, helper_nodes(scenario, catalog, step.updates), catalog);
  const std::vector<PhaseCost> phases = run_phases(job, {step.step_time, step.device_average_power});
  if (phases.empty()) return;
  const RunRisk risk = run_risk(job, catalog, step.step_time, work_of(phases, scenario));
  check_interval(risk);
  const double goodput = mean_goodput(risk, scenario.spec.run);
  if (!(goodput > kNeverEnds)) return;
  const RunParts parts(phases);
  step.time_to_train = parts.time(goodput);
  if (step.cost_rate) step.run_cost = *step.cost_rate * (parts.device_time(goodput) / step.devices);
}

void add_outlook(Prediction& step, const Job& job, const Catalog& catalog) {
  const Scenario& scenario = *job.scenario;
  const PowerModel power = power_model(scenario);
  const FabricBill fabric = fabric_bill(scenario, catalog);
  const std::vector<HelperNodes> helpers = helper_nodes(scenario, catalog, step.updates);
  add_network(step, scenario, power, fabric, helpers, catalog);
  const std::vector<PhaseCost> phases = run_phases(job, {step.step_time, step.device_average_power});
  const RunRisk risk = run_risk(job, catalog, step.step_time, work_of(phases, scenario));
  check_interval(risk);
  for (const std::string& words : risk.checkpoint.remarks) step.assumptions.push_back(words);
  if (auto words = beyond_drives(scenario, input_pipeline(scenario))) step.assumptions.push_back(std::move(*words));
  RunOutlook out;
  RunShares mean;
  out.goodput = goodput_outlook(scenario, risk, mean);
  out.checkpoint = checkpoint_outlook(scenario, risk);
  out.input = input_outlook(job, step);
  out.phases = phases_outlook(phases);
  out.facility = facility_outlook(job, step, power, fabric);
  const bool ends = out.goodput.p05 > kNeverEnds;
  if (!phases.empty() && !ends)
    step.assumptions.emplace_back(
        "the run is interrupted so often that it would hardly end: no time and no cost of it");
  if (!phases.empty() && ends) {
    const Watts beside = out.facility.fabric.value_or(Watts(0)) + draw_of(helpers);
    out.run = totals(phases, mean, out.goodput, step, power, beside);
    step.time_to_train = out.run->time;
    step.run_cost = out.run->cost;
  }
  out.carbon = carbon_outlook(scenario, step, out.run);
  step.outlook = std::make_shared<const RunOutlook>(std::move(out));
}

}  // namespace stepcast
