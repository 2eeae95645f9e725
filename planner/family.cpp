#include "planner/family.hpp"

#include <algorithm>

#include "models/cost/cost.hpp"
#include "models/power/facility.hpp"
#include "planner/bill.hpp"

namespace stepcast {

namespace {

/// What people train with on a kind of device, where the question leaves it open.
std::vector<std::string> usual_frameworks(const Node* node, const Catalog& catalog, bool transformer) {
  if (node == nullptr) return {""};
  std::string maker;
  if (node->has_accelerators()) {
    const auto* accelerator = catalog.find<Accelerator>(node->accelerator);
    if (accelerator == nullptr) return {""};
    maker = accelerator->vendor;
  }
  if (!transformer) return {default_framework(maker)};
  std::vector<std::string> out{default_framework(maker, Spread::cut)};
  if (std::string sharded = default_framework(maker, Spread::sharded); sharded != out.front())
    out.push_back(std::move(sharded));
  return out;
}

bool is_transformer(const ModelChoice& choice) {
  if (choice.described) return choice.described->is_transformer();
  Diagnostics ignored("");
  const auto model = find_model(choice.preset, "", ignored);
  return model && model->is_transformer();
}

template <class T>
std::vector<T> or_standard(const Choices<T>& choices, T standard) {
  return choices.open() ? std::vector<T>{std::move(standard)} : choices.values;
}

/// A single choice where the question makes none.
template <class T>
std::vector<std::optional<T>> or_none(const Choices<T>& choices) {
  if (choices.open()) return {std::nullopt};
  return {choices.values.begin(), choices.values.end()};
}

/// Caps of a cluster's devices; one at or above the board limit stands for none.
std::vector<std::optional<Watts>> caps_of(const PlanCluster& choice, const Catalog& catalog) {
  const Node* node = catalog.find<Node>(choice.node);
  const Accelerator* device =
      node != nullptr && node->has_accelerators() ? catalog.find<Accelerator>(node->accelerator) : nullptr;
  std::vector<std::optional<Watts>> out;
  for (std::optional<Watts> cap : or_none(choice.power_cap)) {
    if (cap && device != nullptr && *cap >= device->tdp) cap.reset();
    if (std::find(out.begin(), out.end(), cap) == out.end()) out.push_back(cap);
  }
  return out;
}

/// Whether switches and transceivers can change an answer: all options of one cluster have the same, and they take no
/// time.
bool network_matters(const PlanQuestionSpec& question) {
  const PlanConstraints& limits = question.constraints;
  const std::vector<Objective>& asked = question.objective.values;
  return limits.budget || limits.budget_of_run || limits.power ||
         std::any_of(asked.begin(), asked.end(), [](Objective one) { return one != Objective::time; });
}

}  // namespace

std::vector<FamilySpec> families_of_cluster(const PlanQuestionSpec& question, std::size_t cluster,
                                            const Catalog& catalog, Sizes sizes) {
  const PlanCluster& choice = question.clusters[cluster];
  std::vector<int> nodes = choice.nodes.values;
  if (sizes == Sizes::ends && nodes.size() > 2) nodes = {nodes.front(), nodes.back()};
  const std::vector<std::string> frameworks =
      question.strategy.framework.open()
          ? usual_frameworks(catalog.find<Node>(choice.node), catalog, is_transformer(question.workload.training.model))
          : question.strategy.framework.values;
  std::vector<FamilySpec> out;
  for (const int count : nodes) {
    int surroundings = 0;
    for (const FabricSpec& fabric : or_standard(choice.fabric, FabricSpec{}))
      for (const std::string& storage : or_standard(choice.storage, std::string())) {
        for (const std::optional<Watts>& cap : caps_of(choice, catalog))
          for (const std::optional<double>& clock : or_none(choice.clock_MHz))
            for (const std::string& framework : frameworks)
              out.push_back({cluster, count, fabric, storage, cap, clock, framework, surroundings});
        ++surroundings;
      }
  }
  return out;
}

std::vector<FamilySpec> families_of(const PlanQuestionSpec& question, const Catalog& catalog) {
  std::vector<FamilySpec> out;
  for (std::size_t i = 0; i < question.clusters.size(); ++i)
    for (FamilySpec& family : families_of_cluster(question, i, catalog, Sizes::all)) out.push_back(std::move(family));
  return out;
}

namespace {

/// The settings that are not searched.
StrategySpec fixed_settings(const PlanStrategy& s) {
  StrategySpec out;
  // Of several each option has its own.
  if (s.expert_dispatch.values.size() == 1) out.expert_dispatch = s.expert_dispatch.values.front();
  out.context_method = s.context_method;
  out.order = s.order;
  out.overlap_tensor_parallel = s.overlap_tensor_parallel;
  out.overlap_gradients = s.overlap_gradients;
  out.overlap_parameter_gather = s.overlap_parameter_gather;
  out.fused_loss = s.fused_loss;
  out.gradients_in_fp32 = s.gradients_in_fp32;
  out.fused_activation = s.fused_activation;
  out.fused_norm = s.fused_norm;
  out.fused_rotary = s.fused_rotary;
  out.attention_kernel = s.attention_kernel;
  out.optimizer = s.optimizer;
  out.parameters_in_16_bit = s.parameters_in_16_bit;
  out.torch_compile = s.torch_compile;
  out.memory_format = s.memory_format;
  return out;
}

}  // namespace

ScenarioSpec scenario_of(const PlanQuestionSpec& question, const FamilySpec& family) {
  const PlanCluster& choice = question.clusters[family.cluster];
  ScenarioSpec spec;
  spec.cluster.node = choice.node;
  spec.cluster.nodes = family.nodes;
  spec.cluster.fabric = family.fabric;
  spec.cluster.storage = family.storage;
  spec.cluster.site = choice.site;
  spec.cluster.cooling = choice.cooling;
  spec.cluster.cost = choice.cost;
  spec.cluster.power_cap = family.power_cap;
  spec.cluster.clock_MHz = family.clock_MHz;
  spec.workload = question.workload.training;
  spec.strategy = fixed_settings(question.strategy);
  spec.strategy.framework = family.framework;
  spec.run = question.run;
  return spec;
}

std::optional<double> grid_carbon(const Scenario& scenario) {
  if (scenario.site == nullptr) return std::nullopt;
  return scenario.site->grid_gCO2_per_kWh ? scenario.site->grid_gCO2_per_kWh : scenario.site->country_grid_gCO2_per_kWh;
}

FamilyFacts facts_of(const Scenario& scenario, const PlanQuestionSpec& question, const Catalog& catalog) {
  FamilyFacts out;
  out.power = power_model(scenario);
  const FabricBill network = network_matters(question) ? fabric_bill(scenario, catalog) : FabricBill{};
  out.fabric = network.power.value_or(Watts(0)) * out.power.pue;
  // The rate is linear in power: what a watt adds is what electricity costs.
  if (const std::optional<CostRate> rate = cost_rate(scenario, catalog, Watts(1), network.price)) {
    out.rate = rate->servers + rate->network + rate->upkeep;
    out.electricity = rate->electricity / Watts(1);
  }
  if (question.constraints.budget_to_buy) out.price = price_to_buy(bill_of_materials(scenario, catalog));
  out.carbon = grid_carbon(scenario);
  out.rack_units = scenario.node->rack_units * scenario.spec.cluster.nodes;
  return out;
}

}  // namespace stepcast
