#include "models/cost/cost.hpp"

namespace stepcast {

namespace {

// A bought server is written off over four years, as Alphabet did from 2021 to 2022 (annual reports, recalled; cloud
// operators have since gone to five or six). Interest, space and staff are left out.
constexpr Seconds kAmortisation = 4 * 365.25 * 1_days;
// Business mean of the world, 0.148 $/kWh (sites electricity-world-business), where the site does not say.
constexpr DollarsPerJoule kDefaultElectricity = 0.148_usd / 1_kWh;
// A month is a twelfth of a Julian year, as the catalogue's reader takes it.
constexpr Seconds kMonth = 365.25 / 12 * 1_days;

/// The node whose price is taken, and how many times.
struct PriceSource {
  const Node* node = nullptr;
  double scale = 1;
  bool own = true;
};

/// Rent or price of one node, not scaled.
struct NodeCost {
  DollarsPerSecond servers;
  bool electricity_included = true;
  std::string words;
};

DollarsPerJoule electricity_price(const Scenario& scenario) {
  const bool known = scenario.site && scenario.site->electricity;
  return known ? *scenario.site->electricity : kDefaultElectricity;
}

std::optional<PriceSource> price_source(const Node& node, const Catalog& catalog) {
  if (node.price) return PriceSource{&node, 1, true};
  if (node.price_like.empty()) return std::nullopt;
  const Node* like = catalog.find<Node>(node.price_like);
  // One step only: a price that stands for one that stands for a third would be a rumour.
  if (!like || !like->price || !like->has_accelerators()) return std::nullopt;
  return PriceSource{like, double(node.accelerator_count) / like->accelerator_count, false};
}

std::optional<NodeCost> node_cost(const NodePrice& price) {
  const auto per_hour = [](DollarsPerSecond rent) { return (rent * 1_h).in(1_usd); };
  if (price.on_demand)
    return NodeCost{*price.on_demand, true, fmt::format("on demand, {:.4g} $/h a node", per_hour(*price.on_demand))};
  if (price.monthly)
    return NodeCost{*price.monthly, true,
                    fmt::format("rented at {:.4g} $ a month a node", (*price.monthly * kMonth).in(1_usd))};
  if (price.capacity_block)
    return NodeCost{*price.capacity_block, true,
                    fmt::format("capacity block, {:.4g} $/h a node", per_hour(*price.capacity_block))};
  if (price.purchase)
    return NodeCost{*price.purchase / kAmortisation, false,
                    fmt::format("bought at {:.0f} $ a node, written off over 4 years", price.purchase->in(1_usd))};
  return std::nullopt;
}

std::string basis_of(const Scenario& scenario, const PriceSource& source, const NodeCost& cost) {
  const std::optional<Evidence> evidence = source.node->provenance.evidence_of("price");
  std::string out = fmt::format("{} ({}{}{})", cost.words, source.node->price->date, evidence ? ", " : "",
                                evidence ? name_of(*evidence) : "");
  if (!source.own)
    out += fmt::format("; that is {}'s price, taken per accelerator as {} has none of its own: an estimate",
                       source.node->id, scenario.node->id);
  if (cost.electricity_included) return out + "; electricity included";
  const bool known = scenario.site && scenario.site->electricity;
  return out + fmt::format("; electricity at {:.3g} $/kWh{}", (electricity_price(scenario) * 1_kWh).in(1_usd),
                           known ? "" : ", the world's business mean");
}

}  // namespace

std::optional<CostRate> cost_rate(const Scenario& scenario, const Catalog& catalog, Watts average_power) {
  const std::optional<PriceSource> source = price_source(*scenario.node, catalog);
  if (!source) return std::nullopt;
  const std::optional<NodeCost> cost = node_cost(*source->node->price);
  if (!cost) return std::nullopt;
  CostRate rate;
  rate.servers = scenario.spec.cluster.nodes * source->scale * cost->servers;
  if (!cost->electricity_included) rate.electricity = average_power * electricity_price(scenario);
  rate.basis = basis_of(scenario, *source, *cost);
  return rate;
}

}  // namespace stepcast
