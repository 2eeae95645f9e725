#include "planner/plan.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/phases/run_phases.hpp"
#include "models/power/facility.hpp"
#include "planner/binding.hpp"
#include "planner/forecast.hpp"
#include "planner/incumbents.hpp"
#include "planner/limits.hpp"
#include "planner/stated_values.hpp"
#include "report/run_outlook.hpp"
#include "report/run_parts.hpp"

namespace stepcast {

namespace {

/// Simulation and closed form differ by a few per cent, so more options are simulated than are shown.
constexpr std::size_t kSimulatedForEachShown = 2;
constexpr std::size_t kFewestSimulated = 8;
/// Kinds beside the best one's that are simulated, best first; and machines that no other finalist has.
constexpr std::size_t kOtherKinds = 3, kOtherMachines = 4;

std::string name_of_option(const Scenario& scenario) {
  return fmt::format("{} on {} × {}", scenario.model->id, scenario.spec.cluster.nodes, scenario.node->id);
}

/// Of a step alone.
ObjectiveValues step_objectives(const Prediction& p, const FamilyFacts& facts, long batch) {
  const Seconds sample = p.step_time / static_cast<double>(batch);
  const double energy = p.energy_per_sample.value();
  return {sample.value(), p.cost_rate ? (*p.cost_rate * sample).value() : kUnknownObjective, energy,
          facts.carbon ? p.energy_per_sample.in(1_kWh) * *facts.carbon : kUnknownObjective, energy};
}

/// What is ranked is what is shown: the run's, over the samples that its work stands for, where there is any.
ObjectiveValues objectives_of(const Prediction& p, const FamilyFacts& facts, const PlanPoint& point) {
  ObjectiveValues out = step_objectives(p, facts, point.option.batch);
  const double work = point.figures.work;
  if (!(work > 0)) return out;
  const RunTotals* run = p.outlook && p.outlook->run ? &*p.outlook->run : nullptr;
  const auto set = [&](Objective of_run, bool known, auto whole) {
    out[static_cast<std::size_t>(of_run)] = run != nullptr && known ? whole() / work : kUnknownObjective;
  };
  set(Objective::time, true, [&] { return run->time.value(); });
  set(Objective::cost, run != nullptr && run->cost, [&] { return run->cost->value(); });
  set(Objective::energy, true, [&] { return run->energy.value(); });
  const bool grid = facts.carbon && run != nullptr && p.outlook->carbon.run_kg;
  set(Objective::carbon, grid, [&] { return *p.outlook->carbon.run_kg * 1000; });
  return out;
}

/// Keys that have more than one value among all fabrics of a question; what one leaves out is a value, too.
std::set<std::string> keys_that_differ(const PlanQuestionSpec& question) {
  std::vector<Json> fabrics;
  for (const PlanCluster& cluster : question.clusters) {
    if (cluster.fabric.open()) fabrics.push_back(FabricSpec::fields().write({}));
    for (const FabricSpec& fabric : cluster.fabric.values) fabrics.push_back(FabricSpec::fields().write(fabric));
  }
  std::set<std::string> out;
  for (const Json& fabric : fabrics)
    for (const auto& [key, value] : fabric.items())
      for (const Json& other : fabrics)
        if (other.value(key, Json()) != value) out.insert(key);
  return out;
}

class Planner {
 public:
  Planner(const PlanQuestion& question, const Catalog& catalog, const PlanOptions& options)
      : question_(question), catalog_(catalog), options_(options) {}

  PlanAnswer answer() {
    out_.name = question_.spec.name;
    out_.objectives = question_.spec.objective.values;
    SearchOptions search_options;
    search_options.threads = options_.jobs;
    search_options.keep = simulated_at_once();
    search_options.forecast = options_.fidelity;
    search_options.progress = options_.progress;
    search_options.stop = options_.stop;
    found_ = search(question_, catalog_, search_options);
    out_.stated_of_fabrics = keys_that_differ(question_.spec);
    if (found_.tally.legal() == 0 && !found_.stopped)
      out_.faults = faults_of_stated_values(question_, found_.families, catalog_);
    out_.tally = found_.tally;
    out_.stopped = found_.stopped;
    forecast();
    rank();
    list_front();
    list_what_to_measure();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::size_t simulated_at_once() const {
    return std::max(kFewestSimulated, kSimulatedForEachShown * options_.top);
  }

  /// The best, the best of a few other kinds, and of a few machines that none of these runs on: what is bought is
  /// chosen among answers that are near each other, too.
  std::vector<PlanPoint> finalists() const {
    std::vector<PlanPoint> out = found_.best;
    std::set<std::size_t> orders;
    std::set<std::array<int, 2>> machines;
    const auto seen = [&](const PlanPoint& point) {
      orders.insert(point.order);
      machines.insert(machines_of(option_kind(found_.families, point.family, point.option)));
    };
    for (const PlanPoint& point : out) seen(point);
    std::size_t kinds = 0, others = 0;
    for (const PlanPoint& point : found_.best_of_kinds) {
      if (orders.contains(point.order)) continue;
      const bool fresh = !machines.contains(machines_of(option_kind(found_.families, point.family, point.option)));
      if (kinds >= kOtherKinds && (!fresh || others >= kOtherMachines)) continue;
      ++(kinds < kOtherKinds ? kinds : others);
      out.push_back(point);
      seen(point);
    }
    return out;
  }

  /// Options near a limit join the others, best first, until none is left that may come before the last shown.
  void forecast() {
    std::vector<PlanPoint> points = finalists();
    const std::vector<PlanPoint>& near = found_.near_limits;
    std::size_t taken = 0;
    do {
      const std::size_t end = std::min(near.size(), taken + simulated_at_once());
      for (; taken < end; ++taken) points.push_back(near[taken]);
      forecast(points);
      points.clear();
    } while (taken < near.size() && may_be_shown(near[taken]) && !out_.stopped);
  }

  /// Whether an option comes, by its closed form, before the last of those to show.
  [[nodiscard]] bool may_be_shown(const PlanPoint& point) const {
    const auto first = static_cast<std::size_t>(question_.objective());
    const auto better = std::count_if(out_.candidates.begin(), out_.candidates.end(), [&](const PlanCandidate& kept) {
      return kept.objective[first] <= point.figures.objective[first];
    });
    return static_cast<std::size_t>(better) < options_.top;
  }

  void forecast(const std::vector<PlanPoint>& points) {
    std::vector<Json> scenarios;
    scenarios.reserve(points.size());
    for (const PlanPoint& point : points) scenarios.push_back(scenario_json(point));
    // Who asked to stop gets what the closed form says at once.
    PlanOptions how = options_;
    if (found_.stopped) how.fidelity = Fidelity::analytic;
    std::vector<Prediction> predictions = forecasts_of(scenarios, question_.file, catalog_, how, out_.tally.evaluated);
    out_.stopped = out_.stopped || predictions.size() < points.size();
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const LimitedFigures limited = limited_figures(predictions[i], goodput_by_formula(scenarios[i], predictions[i]));
      if (keeps_limits(points[i], predictions[i], limited))
        out_.candidates.push_back(
            candidate(points[i], std::move(scenarios[i]), std::move(predictions[i]), limited.goodput));
    }
  }

  /// As the search has it, at the step of the forecast; none where no limit asks for it, and where there is no formula.
  std::optional<double> goodput_by_formula(const Json& scenario, const Prediction& prediction) const {
    if (!question_.spec.constraints.minimum_goodput_percent) return std::nullopt;
    const Scenario option = resolve(scenario, question_.file, {}, catalog_);
    const Job job = lower(option);
    const std::vector<RunPart> parts = run_parts(
        job, catalog_, run_phases(job, {prediction.step_time, prediction.device_average_power}), prediction.step_time);
    const std::optional<std::vector<RunShares>> shares = expected_shares(parts);
    return shares ? std::optional(goodput_of(parts, *shares)) : std::nullopt;
  }

  /// Whether the forecast keeps every limit; the option is counted for what the forecast says, no more for what the
  /// closed form said.
  bool keeps_limits(const PlanPoint& point, const Prediction& prediction, const LimitedFigures& limited) {
    std::optional<Refusal> broken = broken_limit(question_.spec.constraints, limited);
    if (broken && prediction.fidelity == name_of(Fidelity::simulated)) broken->reason = when_simulated(broken->reason);
    out_.tally.recount(point.figures.refused, broken);
    if (broken)
      std::erase_if(found_.front, [&](const PlanPoint& other) { return other.order == point.order; });
    else
      kept_.push_back(point);
    return !broken;
  }

  PlanCandidate candidate(const PlanPoint& point, Json scenario, Prediction prediction,
                          std::optional<double> goodput) const {
    const Evaluator evaluator(question_, found_.families[point.family], catalog_);
    PlanCandidate out;
    out.scenario = std::move(scenario);
    out.prediction = std::move(prediction);
    out.scenario["run"]["fidelity"] = out.prediction.fidelity;  // of its figures, which `run` is to find again
    out.closed_form = point.figures.step_time;
    out.objective = objectives_of(out.prediction, evaluator.facts(), point);
    out.price = evaluator.facts().price;
    out.network = fabric_bill(resolve(out.scenario, question_.file, {}, catalog_), catalog_).assumed;
    if (const auto& outlook = out.prediction.outlook; outlook && outlook->carbon.run_kg && evaluator.facts().carbon)
      out.carbon_of_run_t = *outlook->carbon.run_kg / 1e3;
    out.binding = bindings_of(out.prediction, question_.spec.constraints, evaluator.facts(), goodput);
    out.kind = option_kind(found_.families, point.family, point.option);
    out.family = point.family;
    return out;
  }

  void rank() {
    std::vector<PlanCandidate>& all = out_.candidates;
    const auto first = static_cast<std::size_t>(question_.objective());
    std::stable_sort(all.begin(), all.end(), [&](const PlanCandidate& a, const PlanCandidate& b) {
      return a.objective[first] < b.objective[first];
    });
    if (all.empty()) return;
    const OptionKind best = all.front().kind;
    const auto other = std::find_if(all.begin(), all.end(), [&](const PlanCandidate& c) { return c.kind != best; });
    std::optional<PlanCandidate> runner_up;
    if (other != all.end() && static_cast<std::size_t>(other - all.begin()) >= options_.top) runner_up = *other;
    if (other != all.end()) other->of_other_kind = true;
    if (all.size() > options_.top) all.resize(options_.top);
    if (runner_up) {
      runner_up->of_other_kind = true;
      all.push_back(std::move(*runner_up));
    }
    // Every objective is a time a sample times what the step time does not change, so the time's interval is its own.
    const double reach = std::exp(all.front().prediction.expected_error.share_80) * all.front().objective[first];
    for (std::size_t i = 1; i < all.size(); ++i)
      all[i].tie = all[i].objective[first] * std::exp(-all[i].prediction.expected_error.share_80) <= reach;
  }

  /// The search has left out what the closed form lets break a limit, and what was dominated by options that the
  /// forecast does.
  void list_front() {
    if (out_.objectives.size() < 2) return;
    for (const PlanPoint& point : kept_) add_to_front(found_.front, point, out_.objectives);
    const auto first = static_cast<std::size_t>(question_.objective());
    std::sort(found_.front.begin(), found_.front.end(), [&](const PlanPoint& a, const PlanPoint& b) {
      return std::pair(a.figures.objective[first], a.order) < std::pair(b.figures.objective[first], b.order);
    });
    for (const PlanPoint& point : found_.front) out_.pareto.push_back({scenario_json(point), point.figures});
  }

  /// Every pairing of framework and accelerator that the question allows and no measured run stands behind.
  void list_what_to_measure() {
    std::set<std::pair<std::string, std::string>> seen;
    for (const std::size_t allowed : found_.allowed_families) {
      const FamilySpec& family = found_.families[allowed];
      if (!seen.emplace(family.framework, question_.spec.clusters[family.cluster].node).second) continue;
      const ScenarioVariants variants(scenario_of(question_.spec, family), question_.file, catalog_);
      const ExpectedError error = expected_error(variants.shared(), prediction_errors());
      if (error.grade == EvidenceGrade::together) continue;
      const std::string accelerator =
          variants.shared().accelerator != nullptr ? variants.shared().accelerator->id : variants.shared().node->cpu;
      const std::string& node = variants.shared().node->id;
      out_.to_measure.push_back(
          {family.framework, accelerator, error.grade, error.why,
           fmt::format("stepcast calibrate fit RESULTS --node {} -o {}.calibration.json", node, node)});
    }
  }

  Json scenario_json(const PlanPoint& point) const {
    Evaluator evaluator(question_, found_.families[point.family], catalog_);
    const Scenario* scenario = evaluator.scenario(point.option);
    Json out = to_json(*scenario);
    Json named = Json::object();
    named["format_version"] = kScenarioFormatVersion;
    named["name"] = name_of_option(*scenario);
    if (!question_.spec.name.empty()) named["description"] = "An answer to: " + question_.spec.name;
    for (auto& [key, value] : out.items())
      if (!named.contains(key)) named[key] = value;
    return named;
  }

  const PlanQuestion& question_;
  const Catalog& catalog_;
  const PlanOptions& options_;
  SearchResult found_;
  std::vector<PlanPoint> kept_;  ///< whose forecast keeps every limit
  PlanAnswer out_;
};

}  // namespace

PlanAnswer plan(const PlanQuestion& question, const Catalog& catalog, const PlanOptions& options) {
  return Planner(question, catalog, options).answer();
}

}  // namespace stepcast
