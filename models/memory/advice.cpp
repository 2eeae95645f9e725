#include "models/memory/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fields/json_text.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/fused_kernels.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostAdvice = 5;

/// One setting of the strategy and what to try for it.
struct Setting {
  std::string key;
  Json value;
};
using Change = std::vector<Setting>;

std::string words(const Change& change) {
  std::string text;
  for (const Setting& setting : change)
    text += fmt::format("{}strategy.{} = {}", text.empty() ? "" : ", ", setting.key, setting.value.dump());
  return text;
}

int longest_chunk(const Scenario& scenario) {
  return *std::max_element(scenario.stage_layers.begin(), scenario.stage_layers.end());
}

void recomputation(std::vector<Change>& changes, const Scenario& scenario) {
  if (!scenario.model->is_transformer()) return;
  const Recompute now = scenario.spec.strategy.recompute;
  if (now == Recompute::none) changes.push_back({{"recompute", "selective"}});
  if (now != Recompute::full) changes.push_back({{"recompute", "full"}});
  // More of them, as far as all: those beyond a stage's are not legal.
  const std::optional<int> layers = scenario.spec.strategy.recompute_layers;
  if (layers && now != Recompute::none)
    for (int more = 2 * *layers; more < 2 * longest_chunk(scenario); more *= 2)
      changes.push_back({{"recompute_layers", std::min(more, longest_chunk(scenario))}});
}

void shardings(std::vector<Change>& changes, const Scenario& scenario) {
  for (const std::string& name : scenario.framework->shardings)
    if (name != name_of(scenario.sharding)) changes.push_back({{"sharding", name}});
}

void degrees(std::vector<Change>& changes, const Scenario& scenario) {
  const Degrees& now = scenario.degrees;
  if (scenario.framework->tensor_parallel)
    for (int tp = 2 * now.tp; tp <= scenario.devices_per_node(); tp *= 2) changes.push_back({{"tensor_parallel", tp}});
  if (scenario.framework->context_parallel && scenario.model->is_transformer())
    for (int cp = 2 * now.cp; cp <= scenario.devices_per_node(); cp *= 2) changes.push_back({{"context_parallel", cp}});
  if (scenario.framework->pipeline_parallel)
    for (int pp = 2 * now.pp; pp <= std::min(8 * now.pp, scenario.devices()); pp *= 2)
      changes.push_back({{"pipeline_parallel", pp}});
}

void micro_batches(std::vector<Change>& changes, const Scenario& scenario) {
  for (long size = scenario.degrees.micro_batch / 2; size >= 1; size /= 2) changes.push_back({{"micro_batch", size}});
}

void losses(std::vector<Change>& changes, const Scenario& scenario) {
  if (scenario.model->is_transformer() && !fused_kernels(scenario).loss) changes.push_back({{"fused_loss", true}});
}

/// Last, for host memory in place of the device's costs most time, and narrower states may cost what is learnt.
std::vector<Change> last_resorts(const Scenario& scenario) {
  std::vector<Change> changes;
  const StrategySpec& now = scenario.spec.strategy;
  if (optimizer_of(scenario) == OptimizerKind::adam) changes.push_back({{"optimizer", "adam-8bit"}});
  if (!now.parameters_in_16_bit) changes.push_back({{"parameters_in_16_bit", true}});
  if (!now.offload_optimizer) changes.push_back({{"offload_optimizer", true}});
  if (!now.offload_activations) changes.push_back({{"offload_activations", true}});
  return changes;
}

std::vector<Change> single_changes(const Scenario& scenario) {
  std::vector<Change> changes;
  recomputation(changes, scenario);
  shardings(changes, scenario);
  micro_batches(changes, scenario);
  losses(changes, scenario);
  degrees(changes, scenario);
  return changes;
}

std::vector<Change> pairs_of(const std::vector<Change>& singles) {
  std::vector<Change> pairs;
  for (std::size_t i = 0; i < singles.size(); ++i)
    for (std::size_t j = i + 1; j < singles.size(); ++j)
      if (singles[i].front().key != singles[j].front().key) pairs.push_back({singles[i].front(), singles[j].front()});
  return pairs;
}

/// The scenario's document with a change in it. What the scenario derived from the old degrees is left to be derived
/// anew.
Json changed(Json document, const Change& change) {
  Json& strategy = document["strategy"];
  for (const char* derived : {"data_parallel", "stage_layers", "hsdp_shard_size"}) strategy.erase(derived);
  for (const Setting& setting : change) strategy[setting.key] = setting.value;
  if (strategy.value("recompute", "") != "modules") strategy.erase("recompute_modules");
  if (strategy.value("recompute", "") == "none") strategy.erase("recompute_layers");
  return document;
}

struct Tried {
  Change change;
  Bytes peak, capacity;
};

/// Tries changes and keeps those that are legal and fit.
std::vector<Tried> fitting(const std::vector<Change>& changes, const Json& document, const Catalog& catalog) {
  std::vector<Tried> kept;
  for (const Change& change : changes) {
    try {
      const Scenario scenario = resolve(changed(document, change), "advice", {}, catalog);
      const MemoryReport report = memory_of(lower(scenario));
      if (report.fits)
        kept.push_back({change, report.stages[static_cast<std::size_t>(report.worst_stage)].total(), report.capacity});
    } catch (const InputError&) {
      // Not a legal scenario, so no advice.
    }
  }
  return kept;
}

}  // namespace

std::vector<std::string> memory_advice(const Scenario& scenario, const Catalog& catalog) {
  const Json document = to_json(scenario);
  const std::vector<Change> singles = single_changes(scenario);
  std::vector<Tried> tried = fitting(singles, document, catalog);
  if (tried.empty()) tried = fitting(pairs_of(singles), document, catalog);
  if (tried.empty()) {
    std::vector<Change> all = last_resorts(scenario);
    tried = fitting(all, document, catalog);
    all.insert(all.end(), singles.begin(), singles.end());
    if (tried.empty()) tried = fitting(pairs_of(all), document, catalog);
  }
  std::stable_sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) { return a.peak < b.peak; });
  std::vector<std::string> advice;
  for (const Tried& one : tried) {
    if (advice.size() == kMostAdvice) break;
    advice.push_back(
        fmt::format("{}: {:.1f} of {:.1f} GiB", words(one.change), one.peak.in(1_GiB), one.capacity.in(1_GiB)));
  }
  return advice;
}

}  // namespace stepcast
