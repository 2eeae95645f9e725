#include "planner/question.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "fields/plain_text.hpp"
#include "models/scenario/variants.hpp"
#include "planner/family.hpp"

namespace stepcast {

namespace {

void check_workload(const PlanQuestionSpec& spec, Diagnostics& d) {
  const PlanWorkload& w = spec.workload;
  if (w.least_global_batch && *w.least_global_batch > w.training.global_batch)
    d.error(
        "/workload/least_global_batch",
        fmt::format("found {}, which is more than global_batch ({})", *w.least_global_batch, w.training.global_batch),
        fmt::format("at most {}", w.training.global_batch));
  const bool length = w.training.tokens || w.training.samples || w.training.epochs;
  for (const auto& [key, asked] : {std::pair{"deadline_days", spec.constraints.deadline.has_value()},
                                   std::pair{"budget_of_run_usd", spec.constraints.budget_of_run.has_value()}})
    if (asked && !length)
      d.error(fmt::format("/constraints/{}", key), "needs to know how much is trained, and the workload does not say",
              "state workload.tokens, samples or epochs");
}

/// Settings that say more of another one, where the question does not let an option have that.
void check_strategy(const PlanStrategy& s, Diagnostics& d) {
  const bool modules = !s.recompute.open() && s.recompute.allow(Recompute::modules);
  if (modules && s.recompute_modules.empty())
    d.error("/strategy/recompute_modules", "missing: recompute \"modules\" needs them named",
            expected_one_of(names_of<RecomputeModule>()));
  if (!modules && !s.recompute_modules.empty())
    d.error("/strategy/recompute_modules", "is for recompute \"modules\", which no option has",
            "recompute \"modules\", or leave recompute_modules out");
  const bool offloads = !s.offload_optimizer.open() && s.offload_optimizer.allow(true);
  if (!offloads && !s.offload_optimizer_device.open() && s.offload_optimizer_device.allow(OffloadDevice::nvme))
    d.error("/strategy/offload_optimizer_device", "found nvme, but no option has offload_optimizer",
            "offload_optimizer true, or [false, true]; or leave it out");
}

/// Each combination is prepared before the search begins, at some 50 us and 1 kB.
constexpr double kMostFamilies = 20000;

/// Combinations of sizes, fabrics, storage, caps, clocks and frameworks, before any of them is listed.
double combinations(const PlanQuestionSpec& spec) {
  const auto many = [](const auto& choices) { return static_cast<double>(std::max<std::size_t>(1, choices.size())); };
  double all = 0;
  for (const PlanCluster& cluster : spec.clusters)
    all += many(cluster.nodes.values) * many(cluster.fabric.values) * many(cluster.storage.values) *
           many(cluster.power_cap.values) * many(cluster.clock_MHz.values) * many(spec.strategy.framework.values);
  return all;
}

/// Settings that every option has, whose rules ask for nothing that is searched.
constexpr std::array kFixedSettings{"/strategy/expert_dispatch",      "/strategy/order",
                                    "/strategy/torch_compile",        "/strategy/memory_format",
                                    "/strategy/fused_loss",           "/strategy/fused_norm",
                                    "/strategy/fused_rotary",         "/strategy/attention_kernel",
                                    "/strategy/parameters_in_16_bit", "/strategy/overlap_tensor_parallel"};

/// What is wrong with settings that every option has: a fault of the question where it is one of every family, for
/// then no option can be legal.
class FixedSettings {
 public:
  void look_at(ScenarioVariants& family, long batch) {
    ++families_;
    const StrategySpec strategy = family.shared().spec.strategy;
    if (family.with(strategy, batch) != nullptr) return;
    for (const Fault& fault : family.faults()) {
      if (std::find(kFixedSettings.begin(), kFixedSettings.end(), fault.pointer) == kFixedSettings.end()) continue;
      Found& found = found_.try_emplace(fault.pointer, Found{fault}).first->second;
      ++found.families;
    }
  }
  void report(Diagnostics& d) const {
    for (const auto& [pointer, found] : found_)
      if (found.families == families_) d.add({found.fault});
  }

 private:
  struct Found {
    Fault fault;
    int families = 0;
  };
  std::map<std::string, Found> found_;
  int families_ = 0;
};

/// Whether a choice of one list is one of another's too; what is left open is the default.
template <class T>
bool meet(const Choices<T>& a, const Choices<T>& b, std::string_view key) {
  const Json none;
  const auto written = [&](const Choices<T>& choices) {
    std::set<std::string> out;
    for (const T& value : choices.values) out.insert(Codec<T>::write(value, key).dump());
    if (choices.open()) out.insert(none.dump());
    return out;
  };
  const std::set<std::string> first = written(a);
  for (const std::string& value : written(b))
    if (first.contains(value)) return true;
  return false;
}

/// A number of servers that two clusters of a question both have, all else equal; none where they have none.
std::optional<int> common_size(const PlanCluster& a, const PlanCluster& b) {
  const auto price = [](const PlanCluster& cluster) { return CostSpec::fields().write(cluster.cost); };
  if (price(a) != price(b)) return std::nullopt;
  if (a.node != b.node || a.site != b.site || a.cooling != b.cooling || !meet(a.fabric, b.fabric, "fabric") ||
      !meet(a.storage, b.storage, "storage") || !meet(a.power_cap, b.power_cap, "power_cap_W") ||
      !meet(a.clock_MHz, b.clock_MHz, "clock_MHz"))
    return std::nullopt;
  for (const int nodes : a.nodes.values)
    if (std::binary_search(b.nodes.values.begin(), b.nodes.values.end(), nodes)) return nodes;
  return std::nullopt;
}

/// The same servers twice would be searched, and counted, twice.
void refuse_repeated_clusters(const PlanQuestionSpec& spec, Diagnostics& d) {
  for (std::size_t i = 0; i < spec.clusters.size(); ++i)
    for (std::size_t first = 0; first < i; ++first)
      if (const auto nodes = common_size(spec.clusters[first], spec.clusters[i])) {
        d.error(fmt::format("/clusters/{}", i),
                fmt::format("{} × {} is a choice of /clusters/{} already", *nodes, spec.clusters[i].node, first),
                "leave it out of one of them");
        break;
      }
}

/// "/1": which of several frameworks; none where the question names one or leaves them open.
std::string place_in_list(const PlanQuestionSpec& spec, const std::string& framework) {
  const std::vector<std::string>& named = spec.strategy.framework.values;
  const auto found = std::find(named.begin(), named.end(), framework);
  return named.size() < 2 || found == named.end() ? "" : fmt::format("/{}", found - named.begin());
}

/// Every family of the question can be resolved; else its faults, at the cluster that they are of.
void check_clusters(const PlanQuestion& question, const Catalog& catalog, Diagnostics& d) {
  const PlanQuestionSpec& spec = question.spec;
  if (spec.clusters.empty()) d.error("/clusters", "is empty: there is nothing to train on", "name a node");
  if (const double all = combinations(spec); all > kMostFamilies)
    return d.error("/clusters",
                   fmt::format("makes {:.0f} combinations of servers, fabrics, storage, caps and frameworks, and a "
                               "question has at most {:.0f}",
                               all, kMostFamilies),
                   "fewer numbers of nodes: a larger step, or a list");
  refuse_repeated_clusters(spec, d);
  FixedSettings fixed;
  for (std::size_t i = 0; i < spec.clusters.size(); ++i) {
    const std::string at = fmt::format("/clusters/{}", i);
    bool grid_missing = false;
    for (const FamilySpec& family : families_of_cluster(spec, i, catalog, Sizes::ends)) {
      try {
        ScenarioVariants variants(scenario_of(spec, family), question.file, catalog);
        grid_missing = grid_missing || (spec.objective.allow(Objective::carbon) && !grid_carbon(variants.shared()));
        fixed.look_at(variants, spec.workload.training.global_batch);
      } catch (const InputError& error) {
        for (Fault fault : error.faults()) {
          if (fault.pointer.starts_with("/cluster/")) fault.pointer = at + fault.pointer.substr(8);
          if (fault.pointer == "/strategy/framework") fault.pointer += place_in_list(spec, family.framework);
          const auto same = [&](const Fault& known) { return known.text() == fault.text(); };
          if (std::none_of(d.faults().begin(), d.faults().end(), same)) d.add({fault});
        }
      }
    }
    if (grid_missing)
      d.error(at + "/site", "missing: the carbon of its grid decides, and no site that states it is named",
              "see stepcast catalog list sites");
  }
  fixed.report(d);
}

/// An id may be left out for a default; an empty one names nothing.
void refuse_empty_ids(const PlanQuestionSpec& spec, const Json& document, Diagnostics& d) {
  constexpr const char* kFound = "found \"\", expected an id";
  constexpr const char* kHint = "leave it out for the default";
  for (std::size_t i = 0; i < spec.clusters.size(); ++i)
    for (const char* key : {"site", "cooling"})
      if (document["clusters"][i].value(key, "none").empty())
        d.error(fmt::format("/clusters/{}/{}", i, key), kFound, kHint);
  const auto& frameworks = spec.strategy.framework.values;
  if (std::find(frameworks.begin(), frameworks.end(), "") != frameworks.end())
    d.error("/strategy/framework", kFound, kHint);
}

}  // namespace

bool is_plan_question(const Json& document) { return document.is_object() && document.contains("clusters"); }

PlanQuestion read_plan_question(Json document, const std::string& file, const std::vector<std::string>& overrides,
                                const Catalog& catalog) {
  Diagnostics diagnostics(file);
  for (const std::string& assignment : overrides) apply_override(document, assignment, diagnostics);
  if (document.is_object() && document.contains("cluster") && !is_plan_question(document))
    diagnostics.error("/cluster", "this is a scenario, and a plan chooses from several \"clusters\"",
                      "stepcast run takes it; docs/guide/plan.md shows a question");
  diagnostics.throw_if_faulty();
  refuse_control_characters(document, diagnostics);
  PlanQuestion out{file, read_document<PlanQuestionSpec>(document, diagnostics)};
  diagnostics.throw_if_faulty();
  refuse_empty_ids(out.spec, document, diagnostics);
  check_workload(out.spec, diagnostics);
  check_strategy(out.spec.strategy, diagnostics);
  // The work is stated of the batch that is asked for; options may have a smaller one.
  WorkloadSpec& training = out.spec.workload.training;
  if (training.critical_batch && !training.stated_at_batch)
    training.stated_at_batch = static_cast<double>(training.global_batch);
  check_clusters(out, catalog, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

PlanQuestion load_plan_question(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return read_plan_question(std::move(document), file.string(), overrides, catalog);
}

}  // namespace stepcast
