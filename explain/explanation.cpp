#include "explain/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "explain/bottleneck_words.hpp"
#include "explain/hardware_figures.hpp"
#include "explain/setting_changes.hpp"
#include "models/convergence/target.hpp"
#include "models/estimate.hpp"
#include "models/power/facility.hpp"
#include "report/cluster_cost.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

/// Cost of one sample; nothing without a price.
std::optional<double> cost_of_sample(const Prediction& p) {
  if (!p.cost_rate || p.samples_per_s <= 0) return std::nullopt;
  return p.cost_rate->value() / p.samples_per_s;
}

std::optional<double> cost_change(const Prediction& base, const Prediction& changed) {
  const auto before = cost_of_sample(base), after = cost_of_sample(changed);
  if (!before || !after || *before <= 0) return std::nullopt;
  return *after / *before - 1;
}

class Explainer {
 public:
  Explainer(const Json& document, const std::string& file, const Prediction& prediction, const StepDetail& detail,
            const Catalog& catalog)
      : document_(document),
        file_(file),
        catalog_(catalog),
        scenario_(resolve(document, file, {}, catalog)),
        base_(predict_analytic(scenario_, catalog, MemoryAdvice::none)) {
    out_.prediction = prediction;
    out_.critical_path = detail.critical_path;
    out_.closed_form = base_.step_time;
  }

  Explanation explain() {
    for (const HardwareFigure& figure : hardware_figures()) add(figure);
    std::stable_sort(out_.figures.begin(), out_.figures.end(),
                     [](const FigureEffect& a, const FigureEffect& b) { return a.throughput > b.throughput; });
    for (const SettingChange& change : setting_changes(scenario_)) add(change);
    std::stable_sort(out_.settings.begin(), out_.settings.end(), [](const SettingEffect& a, const SettingEffect& b) {
      return a.legal != b.legal ? a.legal : a.throughput > b.throughput;
    });
    out_.words = bottleneck_words(out_);
    return std::move(out_);
  }

 private:
  void add(const HardwareFigure& figure) {
    const std::optional<std::string> value = value_of(figure);
    if (!value) return;
    FigureEffect effect{figure.name, figure.words, *value, figure.rate, 0, std::nullopt, 0};
    const double factor = figure.rate ? 1 + kFigureStep : 1 / (1 + kFigureStep);
    ChangedScenario with(scenario_);
    figure.scale(with, factor);
    // Nodes of other kinds change with the cluster's own.
    std::deque<ChangedScenario> others;
    for (std::shared_ptr<const Scenario>& kind : with.scenario().other_kinds) {
      if (!figure.value(*kind)) continue;
      figure.scale(others.emplace_back(*kind), factor);
      kind = std::make_shared<const Scenario>(others.back().scenario());
    }
    Prediction changed = predict_analytic(with.scenario(), catalog_, MemoryAdvice::none);
    effect.throughput = changed.samples_per_s / base_.samples_per_s - 1;
    changed.cost_rate = at_base_prices(changed);
    effect.cost = cost_change(base_, changed);
    effect.elasticity = std::log1p(effect.throughput) / std::log1p(kFigureStep);
    out_.figures.push_back(std::move(effect));
  }

  /// Where kinds of nodes differ in it, that of each.
  std::optional<std::string> value_of(const HardwareFigure& figure) const {
    const std::optional<std::string> own = figure.value(scenario_);
    if (!own) return std::nullopt;
    std::string all = fmt::format("{}: {}", scenario_.node->id, *own);
    bool differ = false;
    for (const std::shared_ptr<const Scenario>& kind : scenario_.other_kinds) {
      const std::optional<std::string> value = figure.value(*kind);
      if (!value) continue;
      differ = differ || *value != *own;
      all += fmt::format("; {}: {}", kind->node->id, *value);
    }
    return differ ? all : own;
  }

  /// A rate that is sold nowhere has no price: NICs 10 % faster than the scenario's would be charged the next kind of
  /// switch. Only the electricity changes.
  std::optional<DollarsPerSecond> at_base_prices(const Prediction& changed) const {
    const std::vector<HelperNodes> helpers = helper_nodes(scenario_, catalog_, changed.updates);
    const std::optional<Dollars> network = fabric_bill(scenario_, catalog_).price;
    const auto cost = cluster_cost(scenario_, catalog_, helpers, changed.average_power, network);
    return cost ? std::optional(cost->total()) : std::nullopt;
  }

  void add(const SettingChange& change) {
    SettingEffect effect;
    effect.change = change.name;
    effect.words = change.words;
    effect.one_more_nic = change.one_more_nic;
    effect.evens_nodes = change.evens_nodes;
    try {
      const Scenario changed = resolve(changed_document(document_, change), file_, {}, catalog_);
      const Prediction prediction = predict_analytic(changed, catalog_, MemoryAdvice::none);
      effect.legal = true;
      effect.more_samples = may_need_more_samples(scenario_, changed);
      effect.throughput = prediction.samples_per_s / base_.samples_per_s - 1;
      effect.cost = cost_change(base_, prediction);
      effect.fits = prediction.memory.fits;
      effect.capacity = prediction.memory.capacity;
      if (!prediction.memory.stages.empty())
        effect.peak = prediction.memory.stages[static_cast<std::size_t>(prediction.memory.worst_stage)].total();
    } catch (const InputError& error) {
      effect.refusal = error.faults().empty() ? "refused" : error.faults().front().message;
    }
    out_.settings.push_back(std::move(effect));
  }

  const Json& document_;
  const std::string& file_;
  const Catalog& catalog_;
  const Scenario scenario_;
  const Prediction base_;
  Explanation out_;
};

}  // namespace

Explanation explain(const Json& document, const std::string& file, const Prediction& prediction,
                    const StepDetail& detail, const Catalog& catalog) {
  return Explainer(document, file, prediction, detail, catalog).explain();
}

}  // namespace stepcast
