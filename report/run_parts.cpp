#include "report/run_parts.hpp"

#include <algorithm>
#include <tuple>

#include "report/cluster_cost.hpp"

namespace stepcast {

namespace {

/// Whether one simulation stands for both.
bool alike(const RunRisk& a, const RunRisk& b) {
  const auto facts = [](const RunRisk& risk) {
    const FailureRates& rates = risk.rates;
    const CheckpointCost& checkpoint = risk.checkpoint;
    return std::tuple(risk.nodes, rates.interruptions, rates.spot, rates.slow, rates.flaps, checkpoint.stall,
                      checkpoint.write, checkpoint.read, risk.spot_notice);
  };
  return facts(a) == facts(b);
}

RunPart part_of(const Job& job, const Catalog& catalog, Seconds step, Seconds work) {
  return {run_risk(job, catalog, step, work), {}};
}

/// A processor beside accelerators is none of those that a run's device-hours are counted in.
int helper_devices(const Scenario& scenario, const std::vector<HelperNodes>& helpers) {
  int out = 0;
  for (const HelperNodes& helper : helpers)
    if (helper.scenario.node->has_accelerators() || !scenario.node->has_accelerators())
      out += helper.scenario.devices();
  return out;
}

bool can_be_interrupted(PhaseKind kind) { return kind == PhaseKind::train || kind == PhaseKind::evaluation; }

}  // namespace

std::vector<RunPart> run_parts(const Job& job, const Catalog& catalog, const std::vector<PhaseCost>& phases,
                               Seconds step) {
  std::vector<RunPart> out;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const PhaseCost& phase = phases[i];
    if (!can_be_interrupted(phase.kind) || !(phase.time > Seconds(0))) continue;
    const Seconds own_step = phase.steps > 0 ? phase.time / phase.steps : step;
    RunPart part = phase.scenario ? part_of(lower(*phase.scenario), catalog, own_step, phase.time)
                                  : part_of(job, catalog, step, phase.time);
    const auto known =
        std::find_if(out.begin(), out.end(), [&](const RunPart& other) { return alike(other.risk, part.risk); });
    if (known == out.end()) {
      part.phases = {i};
      out.push_back(std::move(part));
      continue;
    }
    known->risk.work += phase.time;
    known->phases.push_back(i);
  }
  if (out.empty()) out.push_back(part_of(job, catalog, step, job.scenario->spec.run.reliability.horizon));
  return out;
}

const RunPart& main_part(const std::vector<RunPart>& parts) {
  return *std::max_element(parts.begin(), parts.end(),
                           [](const RunPart& a, const RunPart& b) { return a.risk.work < b.risk.work; });
}

double goodput_of(const std::vector<RunPart>& parts, const std::vector<double>& each) {
  if (parts.size() == 1) return each.front();
  Seconds work, time;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    work += parts[i].risk.work;
    time += parts[i].risk.work / each[i];
  }
  return work / time;
}

double goodput_of(const std::vector<RunPart>& parts, const std::vector<RunShares>& each) {
  std::vector<double> goodputs;
  goodputs.reserve(each.size());
  for (const RunShares& shares : each) goodputs.push_back(shares.useful);
  return goodput_of(parts, goodputs);
}

std::optional<std::vector<RunShares>> expected_shares(const std::vector<RunPart>& parts) {
  std::vector<RunShares> out;
  for (const RunPart& part : parts) {
    const std::optional<RunShares> shares = expected_shares(part.risk);
    if (!shares) return std::nullopt;
    out.push_back(*shares);
  }
  return out;
}

ClusterTerms cluster_terms(const Scenario& scenario, const Catalog& catalog, const FabricBill& network,
                           const std::optional<UpdateOutcome>& updates) {
  const std::vector<HelperNodes> helpers = helper_nodes(scenario, catalog, updates);
  ClusterTerms out{power_model(scenario), {}, draw_of(helpers), {}, {}, 0};
  out.helper_devices = helper_devices(scenario, helpers);
  out.fabric = network.power.value_or(Watts(0)) * out.power.pue;
  // The rate is linear in power: what a watt adds is what electricity costs.
  if (const auto cost = cluster_cost(scenario, catalog, helpers, out.helpers + Watts(1), network.price)) {
    out.rate = cost->total() - cost->own.electricity;
    out.electricity = cost->own.electricity / Watts(1);
  }
  return out;
}

std::vector<ClusterTerms> phase_terms(const std::vector<PhaseCost>& phases, const ClusterTerms& own,
                                      const Scenario& scenario, const Catalog& catalog,
                                      const std::optional<UpdateOutcome>& updates) {
  std::vector<ClusterTerms> out;
  out.reserve(phases.size());
  for (const PhaseCost& phase : phases) {
    // At another batch actors idle otherwise.
    const bool as_own = !phase.scenario && !(phase.updates && phase.updates->actors);
    const Scenario& here = phase.scenario ? *phase.scenario : scenario;
    out.push_back(
        as_own ? own
               : cluster_terms(here, catalog, fabric_bill(here, catalog), phase.updates ? phase.updates : updates));
  }
  return out;
}

Joules RunSums::whole_energy() const {
  Joules sum;
  for (const Joules phase : energy) sum += phase;
  return sum;
}

RunSums run_sums(const std::vector<PhaseCost>& phases, const std::vector<RunPart>& parts,
                 const std::vector<RunShares>& shares, const std::vector<ClusterTerms>& terms) {
  std::vector<RunShares> of_phase(phases.size());
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (const std::size_t phase : parts[part].phases) of_phase[phase] = shares[part];
  RunSums out;
  out.cost = Dollars(0);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const RunShares& share = of_phase[i];
    const ClusterTerms& own = terms[i];
    const Seconds time = phases[i].time / share.useful;
    const Joules drawn = phases[i].energy * (1 + share.lost_work / share.useful) +
                         (own.power.cluster_at_meter(own.power.device_idle) * share.standing() +
                          own.power.cluster_at_meter(own.power.device_waiting) * share.held_back() + own.fabric) *
                             time;
    out.time += time;
    out.device_time += phases[i].device_time / share.useful + time * own.helper_devices;
    out.energy.push_back(drawn + own.helpers * time);
    if (!own.rate) out.cost.reset();
    if (out.cost) *out.cost += *own.rate * time + own.electricity * drawn;
  }
  return out;
}

}  // namespace stepcast
