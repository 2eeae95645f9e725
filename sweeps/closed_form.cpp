#include "sweeps/closed_form.hpp"

#include "fields/plain_text.hpp"
#include "models/closed_form.hpp"
#include "models/phases/run_phases.hpp"
#include "models/power/facility.hpp"
#include "models/scenario/scenario.hpp"
#include "models/scenario/stated_batch.hpp"
#include "models/updates/lone_node.hpp"
#include "report/json.hpp"
#include "report/outlook.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

/// Families that are kept; each takes some ten kilobytes.
constexpr std::size_t kMostFamilies = 4096;

constexpr std::string_view kStrategy = "strategy.";
constexpr std::string_view kGlobalBatch = "workload.global_batch";

/// Keys directly below the strategy, but for the framework, which is shared.
std::string strategy_key(const std::string& path) {
  if (!path.starts_with(kStrategy) || path == "strategy.framework") return {};
  const std::string key = path.substr(kStrategy.size());
  return key.find('.') == std::string::npos ? key : std::string();
}

}  // namespace

struct ClosedForm::Family {
  Family(ScenarioSpec shared, const std::string& file, const Catalog& catalog)
      : strategy(shared.strategy),
        batch(shared.workload.global_batch),
        variants(std::move(shared), file, catalog),
        network(fabric_bill(variants.shared(), catalog)) {
    strategy.framework = variants.shared().framework->id;  // chosen for the node where none was named
  }

  StrategySpec strategy;  ///< of the shared scenario
  long batch;
  ScenarioVariants variants;
  FabricBill network;
  Lowering lowering;
};

ClosedForm::ClosedForm(const SweepDefinition& sweep, const Catalog& catalog) : sweep_(sweep), catalog_(catalog) {
  for (const std::string& path : sweep.points.paths()) {
    in_strategy_.push_back(strategy_key(path));
    is_batch_.push_back(path == kGlobalBatch);
  }
}

ClosedForm::~ClosedForm() = default;

SweepRow ClosedForm::whole_row(std::int64_t point) const {
  try {
    Diagnostics diagnostics(sweep_.file);
    Json document = sweep_.document(point, diagnostics);
    diagnostics.throw_if_faulty();
    const Scenario scenario = resolve(std::move(document), sweep_.file, {}, catalog_);
    return row_of(point, predict_analytic(scenario, catalog_, MemoryAdvice::none, Extent::run_figures));
  } catch (const InputError& error) {
    return invalid_row(point, error.faults());
  } catch (const std::exception& error) {
    return failed_row(point, error.what());
  }
}

ClosedForm::Family* ClosedForm::family(const std::vector<const Json*>& values) {
  std::vector<const Json*> shared;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (in_strategy_[i].empty() && !is_batch_[i]) shared.push_back(values[i]);
  if (const auto known = families_.find(shared); known != families_.end()) return known->second.get();
  if (families_.size() >= kMostFamilies) families_.clear();
  std::unique_ptr<Family>& out = families_[shared];
  try {
    Json document = sweep_.scenario;
    Diagnostics diagnostics(sweep_.file);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (in_strategy_[i].empty() && !is_batch_[i])
        apply_override(document, sweep_.points.paths()[i] + "=" + values[i]->dump(), diagnostics);
    keep_stated_batch(document, sweep_.scenario);
    refuse_control_characters(document, diagnostics);
    auto spec = read_document<ScenarioSpec>(document, diagnostics);
    const bool plain = spec.cluster.conditions.empty() && spec.cluster.other_nodes.empty() &&
                       spec.format_version <= kScenarioFormatVersion && !phases_differ(spec.run);
    // What is faulty, nodes that differ from one another and phases that have scenarios of their own go the long way.
    if (plain && diagnostics.ok()) out = std::make_unique<Family>(std::move(spec), sweep_.file, catalog_);
  } catch (const InputError&) {
    out.reset();
  }
  return out.get();
}

SweepRow ClosedForm::row_in(Family& family, std::int64_t point, const std::vector<const Json*>& values) {
  Json strategy = Json::object();
  long batch = family.batch;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!in_strategy_[i].empty()) strategy[in_strategy_[i]] = *values[i];
    if (!is_batch_[i]) continue;
    if (!values[i]->is_number_integer() || values[i]->get<long>() < 1) return whole_row(point);
    batch = values[i]->get<long>();
  }
  Diagnostics diagnostics(sweep_.file);
  StrategySpec chosen = family.strategy;
  StrategySpec::fields().read(chosen, strategy, "/strategy", diagnostics);
  const Scenario* scenario = diagnostics.ok() ? family.variants.with(chosen, batch) : nullptr;
  // Rules that are broken are told by resolve(), in its words; actors and updates of their own are costed with it.
  if (scenario == nullptr || chosen.actors || exchanges_apart(*scenario)) return whole_row(point);
  const Job& job = family.lowering.lower(*scenario);
  Prediction prediction =
      predict(job, closed_form(job), Fidelity::analytic, catalog_, MemoryAdvice::none, Extent::step);
  add_run_figures(prediction, job, catalog_, family.network);
  check_figures(prediction);
  return row_of(point, prediction);
}

SweepRow ClosedForm::row(std::int64_t point) {
  sweep_.points.values(point, values_);
  try {
    if (Family* shared = family(values_)) return row_in(*shared, point, values_);
  } catch (const InputError& error) {
    return invalid_row(point, error.faults());
  } catch (const std::exception& error) {
    return failed_row(point, error.what());
  }
  return whole_row(point);
}

}  // namespace stepcast
