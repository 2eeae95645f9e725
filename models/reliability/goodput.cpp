#include "models/reliability/goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/scenario/helper_kinds.hpp"
#include "models/scenario/node_kinds.hpp"
#include "models/updates/round_steps.hpp"

namespace stepcast {

namespace {

// MegaScale found and diagnosed faults in less than 10 minutes and was back in less than 15 (Jiang et al. 2024;
// reliability megascale): half of the bound, as crashes show at once and what hangs when PyTorch's watchdog ends it,
// after 10 minutes (nccl-timeout-default); and the 5 minutes between the two.
constexpr Seconds kDetection = 300_s;
constexpr Seconds kRestart = 300_s;
/// A day until a node is repaired, and until a slow one is found. Estimated.
constexpr Seconds kRepair = 24_h;
constexpr Seconds kSlowFound = 24_h;
/// A port that goes down and up again trains its link for some seconds. Estimated.
constexpr Seconds kFlap = 10_s;

/// Time between notice and the end of a spot instance, by the record of the node's provider; none where nobody says.
Seconds spot_notice(const Node& node, const Catalog& catalog) {
  if (node.provider.empty()) return Seconds(0);
  for (const std::string& id : catalog.ids("reliability"))
    if (const auto* record = catalog.find<ReliabilityRecord>(id); record->provider == node.provider && record->notice)
      return *record->notice;
  return Seconds(0);
}

/// Of nodes of several kinds, the shortest; parameter servers among them.
Seconds spot_notice(const Scenario& scenario, const Catalog& catalog) {
  const std::vector<NodeKind> kinds = node_kinds(scenario);
  Seconds out = spot_notice(*kinds.front().scenario->node, catalog);
  for (const NodeKind& kind : kinds) out = std::min(out, spot_notice(*kind.scenario->node, catalog));
  for (const HelperKind& helper : helper_kinds(scenario, catalog))
    if (helper.role == HelperRole::parameter_servers) out = std::min(out, spot_notice(*helper.scenario.node, catalog));
  return out;
}

/// Share of training in which some node is slow: 1 − e^(−λd), the busy share of a queue M/D/∞, and what recoveries add.
/// Who turns slow during one is noticed and found as if at its end: at t after it, in which d ends while what came
/// before it has passed, nodes of t + D have turned slow and not of d. t has the density μ·e^(−μt); D is a recovery's
/// mean length, interruptions in it included.
double slow_share(const RunRisk& risk, const RunHazard& hazard) {
  const double turns = (risk.nodes * risk.rates.slow).value(), found = risk.slow_found.value();
  const double fails = hazard.interruptions.value();
  const double steady = std::exp(-turns * found);
  if (fails <= 0 || turns <= 0) return 1 - steady;
  const double recovery = std::expm1(fails * hazard.recovery.value()) / fails;
  const double from = std::max(0.0, found - recovery);
  const auto passed = [&](double rate) { return std::exp(-rate * from) - std::exp(-rate * found); };
  const double longer = std::exp(-turns * recovery) * fails / (fails + turns) * passed(fails + turns);
  return 1 - steady + steady * passed(fails) - longer;
}

}  // namespace

void check_interval(const RunRisk& risk) {
  const Seconds least = risk.checkpoint.shortest_interval;
  if (!risk.saves || risk.interval >= least) return;
  const bool behind = risk.checkpoint.kind == CheckpointKind::asynchronous && least <= risk.checkpoint.write;
  const std::string why =
      behind ? fmt::format("an asynchronous checkpoint is written in {:.4g} s, and the next starts no earlier",
                           least.value())
      : risk.round_steps > 1
          ? fmt::format("there is a model to save after a round of {:.0f} steps, which takes {:.4g} s",
                        risk.round_steps, least.value())
          : fmt::format("a step takes {:.4g} s", least.value());
  throw InputError({{"", "/run/checkpoint/interval_s", fmt::format("found {:g}, but {}", risk.interval.value(), why),
                     fmt::format("at least {:.0f}", std::ceil(least.value()))}});
}

RunHazard hazard_of(const RunRisk& risk) {
  const CheckpointCost& checkpoint = risk.checkpoint;
  const PerSecond spot = risk.nodes * risk.rates.spot, all = risk.nodes * (risk.rates.interruptions + risk.rates.spot);
  RunHazard out{all, checkpoint.stall, checkpoint.write - checkpoint.stall,
                risk.detection + risk.restart + checkpoint.read};
  if (!(spot > PerSecond(0))) return out;
  // Nothing has to be detected of what was announced. A recovery of R takes e^(R/M) in the mean.
  const double share = spot / all;
  const Seconds announced = risk.restart + checkpoint.read;
  out.recovery = announced + std::log(share + (1 - share) * std::exp(all * risk.detection)) / all;
  if (checkpoint.write <= risk.spot_notice) out.spared = share;
  return out;
}

namespace {

/// What a run's work takes in the mean, at one pace.
struct WorkTimes {
  Seconds saved;  ///< of the intervals that end with a checkpoint
  Seconds last;   ///< of what is left after the last one
  [[nodiscard]] Seconds sum() const { return saved + last; }
};

WorkTimes work_times(const RunRisk& risk, const RunHazard& hazard, double pace) {
  // At a slower pace work takes longer, and so it is interrupted more often.
  const Seconds work = risk.work / pace, interval = risk.interval / pace;
  if (!risk.saves || !(interval < work)) return {Seconds(0), unsaved_time(hazard, work)};
  // A run ends without a checkpoint, so that a whole number of intervals has one less.
  const double intervals = std::ceil(work / interval * (1 - 1e-12)) - 1;
  return {intervals * interval / daly_goodput(hazard, interval), unsaved_time(hazard, work - intervals * interval)};
}

/// As the formulas take it: of a run that saves nothing no notice spares work.
RunHazard hazard_of_work(const RunRisk& risk) {
  RunHazard out = hazard_of(risk);
  if (!risk.saves) out.spared = 0;
  return out;
}

}  // namespace

double formula_goodput(const RunRisk& risk) { return risk.work / work_times(risk, hazard_of_work(risk), 1).sum(); }

namespace {

/// Shares of the time at one pace, which is that of `slowest` nodes and of `links`.
RunShares shares_at(const RunRisk& risk, const RunHazard& hazard, double slowest, double links) {
  const double pace = slowest * links;
  const WorkTimes times = work_times(risk, hazard, pace);
  RunShares out;
  out.useful = risk.work / times.sum();
  const bool fails = hazard.interruptions > PerSecond(0);
  const double up = fails ? std::exp(-hazard.interruptions * hazard.recovery) : 1;
  out.restart = 1 - up;
  if (times.saved > Seconds(0) && is_finite(times.sum()) && hazard.stall > Seconds(0)) {
    const Seconds interval = risk.interval / pace;
    const double before = fails ? -std::expm1(-hazard.interruptions * interval) : interval / hazard.stall;
    const double cycle = fails ? -std::expm1(-hazard.interruptions * (interval + hazard.stall)) : before + 1;
    out.saving = up * (1 - before / cycle) * (times.saved / times.sum());
  }
  const double training = up - out.saving;
  out.slow_nodes = training * (1 - slowest);
  out.link_flaps = training * slowest * (1 - links);
  out.lost_work = std::max(0.0, training * pace - out.useful);
  return out;
}

/// Share of the time in which a run stands for want of nodes: all spares are away and one node more. Nodes are taken
/// out while it trains and come back a repair's time later, so this is Erlang's loss system, whose blocked share does
/// not depend on how repair times are distributed (Erlang 1917; Sevastyanov 1957).
double stopped_share(const RunRisk& risk, const RunHazard& hazard) {
  const PerSecond taken = risk.nodes * (risk.rates.interruptions * risk.rates.replaced_share + risk.rates.spot);
  const double offered = taken * risk.repair * std::exp(-hazard.interruptions * hazard.recovery);
  double blocked = 1;
  for (int away = 1; away <= risk.spares + 1; ++away) blocked = offered * blocked / (away + offered * blocked);
  return blocked;
}

}  // namespace

std::optional<RunShares> expected_shares(const RunRisk& risk) {
  const RunHazard hazard = hazard_of_work(risk);
  const bool fails = hazard.interruptions > PerSecond(0);
  const bool short_of_nodes = fails && !risk.endless_spares;
  // How slow spells and attempts at a whole run meet depends on how long both are.
  if ((short_of_nodes && risk.elastic) || (fails && !risk.saves && risk.rates.slow > PerSecond(0))) return std::nullopt;
  const double slow = slow_share(risk, hazard);
  const double links = 1 / (1 + risk.nodes * risk.rates.flaps * risk.flap);
  RunShares out = shares_at(risk, hazard, 1, links);
  const RunShares held = shares_at(risk, hazard, risk.slow_speed, links);
  for (double RunShares::*part : kRunShares) out.*part = (1 - slow) * out.*part + slow * held.*part;
  if (!short_of_nodes) return out;
  const double stopped = stopped_share(risk, hazard);
  for (double RunShares::*part : kRunShares) out.*part *= 1 - stopped;
  out.waiting = stopped;
  return out;
}

RunRisk run_risk(const Job& job, const Catalog& catalog, Seconds step, Seconds work) {
  const Scenario& scenario = *job.scenario;
  const ReliabilitySpec& spec = scenario.spec.run.reliability;
  RunRisk risk;
  risk.rates = failure_rates(scenario, catalog);
  risk.nodes = risk.rates.nodes;
  risk.checkpoint = checkpoint_cost(job);
  risk.round_steps = steps_of_round(scenario);
  risk.checkpoint.shortest_interval = std::max(risk.checkpoint.shortest_interval, risk.round_steps * step);
  risk.saves = scenario.spec.run.checkpoint.kind != CheckpointKind::none;
  risk.detection = spec.detection.value_or(kDetection);
  risk.restart = spec.restart.value_or(kRestart);
  risk.repair = spec.repair.value_or(kRepair);
  risk.endless_spares = !spec.spares;
  risk.spares = spec.spares.value_or(0);
  risk.elastic = spec.elastic;
  if (risk.rates.spot > PerSecond(0)) risk.spot_notice = spot_notice(scenario, catalog);
  risk.slow_speed = spec.slow_node_speed;
  risk.slow_found = spec.slow_node_found.value_or(kSlowFound);
  risk.flap = spec.link_flap.value_or(kFlap);
  risk.work = work;
  const auto& stated = scenario.spec.run.checkpoint.interval;
  risk.interval = stated ? *stated : best_interval(hazard_of(risk), risk.checkpoint.shortest_interval);
  return risk;
}

}  // namespace stepcast
