#include "planner/family.hpp"

#include "models/cost/cost.hpp"
#include "models/fabric/metrics.hpp"

namespace stepcast {

namespace {

/// What people train with on a kind of device, where the question leaves it open.
std::vector<std::string> usual_frameworks(const Node* node, const Catalog& catalog, bool transformer) {
  if (node == nullptr) return {""};
  if (!node->has_accelerators()) return {"pytorch-cpu"};
  const Accelerator* accelerator = catalog.find<Accelerator>(node->accelerator);
  const std::string vendor = accelerator != nullptr ? accelerator->vendor : std::string();
  if (vendor == "Google") return {"jax"};
  if (vendor == "AWS" || vendor == "Amazon") return {"neuronx"};
  if (!transformer) return {"pytorch-ddp"};
  return {"megatron-lm", "pytorch-fsdp"};
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

std::optional<Dollars> price_to_buy(const Scenario& scenario, const Catalog& catalog) {
  const Node* priced = scenario.node;
  double scale = scenario.spec.cluster.nodes;
  if (!priced->price && !priced->price_like.empty()) {
    priced = catalog.find<Node>(priced->price_like);
    if (priced == nullptr || !priced->has_accelerators()) return std::nullopt;
    scale *= static_cast<double>(scenario.node->accelerator_count) / priced->accelerator_count;
  }
  if (!priced->price || !priced->price->purchase) return std::nullopt;
  Dollars out = *priced->price->purchase * scale;
  if (scenario.network_switch == nullptr) return out;
  const ClusterSpec& cluster = scenario.spec.cluster;
  const Fabric fabric = build_fabric(cluster.fabric, *scenario.node, cluster.nodes, scenario.nics_per_node,
                                     scenario.nic_bandwidth, scenario.network_switch, catalog, FabricDetail::switches);
  if (const std::optional<Dollars> network = inventory(fabric, catalog).price) out += *network;
  return out;
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
  for (const int count : nodes)
    for (const FabricSpec& fabric : or_standard(choice.fabric, FabricSpec{}))
      for (const std::string& storage : or_standard(choice.storage, std::string()))
        for (const std::string& framework : frameworks) out.push_back({cluster, count, fabric, storage, framework});
  return out;
}

std::vector<FamilySpec> families_of(const PlanQuestionSpec& question, const Catalog& catalog) {
  std::vector<FamilySpec> out;
  for (std::size_t i = 0; i < question.clusters.size(); ++i)
    for (FamilySpec& family : families_of_cluster(question, i, catalog, Sizes::all)) out.push_back(std::move(family));
  return out;
}

ScenarioSpec scenario_of(const PlanQuestionSpec& question, const FamilySpec& family) {
  const PlanCluster& choice = question.clusters[family.cluster];
  ScenarioSpec spec;
  spec.cluster.node = choice.node;
  spec.cluster.nodes = family.nodes;
  spec.cluster.fabric = family.fabric;
  spec.cluster.storage = family.storage;
  spec.cluster.site = choice.site;
  spec.cluster.cooling = choice.cooling;
  spec.workload = question.workload.training;
  spec.strategy.framework = family.framework;
  spec.run = question.run;
  return spec;
}

std::optional<double> grid_carbon(const Scenario& scenario) {
  if (scenario.site == nullptr) return std::nullopt;
  return scenario.site->grid_gCO2_per_kWh ? scenario.site->grid_gCO2_per_kWh : scenario.site->country_grid_gCO2_per_kWh;
}

FamilyFacts facts_of(const Scenario& scenario, const PlanConstraints& constraints, const Catalog& catalog) {
  FamilyFacts out;
  out.power = power_model(scenario);
  // The rate is linear in power: what a watt adds is what electricity costs.
  if (const std::optional<CostRate> rate = cost_rate(scenario, catalog, Watts(1))) {
    out.rate = rate->servers;
    out.electricity = rate->electricity / Watts(1);
  }
  if (constraints.budget_to_buy) out.price = price_to_buy(scenario, catalog);
  out.carbon = grid_carbon(scenario);
  out.rack_units = scenario.node->rack_units * scenario.spec.cluster.nodes;
  return out;
}

}  // namespace stepcast
