#include "models/cost/cost.hpp"

#include <utility>

#include "fields/short_number.hpp"
#include "models/scenario/node_kinds.hpp"
#include "units/calendar.hpp"

namespace stepcast {

namespace {

// A bought server is written off over four years, as Alphabet did from 2021 to 2022 (annual reports, recalled; cloud
// operators have since gone to five or six). Interest, space and staff are left out.
constexpr Seconds kAmortisation = 4 * 365.25 * 1_days;
// Business mean of the world, 0.148 $/kWh (sites electricity-world-business), where the site does not say.
constexpr DollarsPerJoule kDefaultElectricity = 0.148_usd / 1_kWh;
/// The node whose price is taken, and how many times.
struct PriceSource {
  const Node* node = nullptr;
  double scale = 1;
  bool own = true;
};

/// Rent or price of one node, not scaled.
struct NodeCost {
  DollarsPerSecond servers;
  bool bought = false;  ///< electricity, upkeep and network come on top
  std::string words;
};

/// Price of electricity and whether anyone states it.
std::pair<DollarsPerJoule, bool> electricity_price(const Scenario& scenario) {
  if (const auto& stated = scenario.spec.cluster.cost.electricity) return {*stated, true};
  const bool known = scenario.site && scenario.site->electricity;
  return {known ? *scenario.site->electricity : kDefaultElectricity, known};
}

Seconds amortisation(const Scenario& scenario) {
  return scenario.spec.cluster.cost.amortisation.value_or(kAmortisation);
}

std::optional<PriceSource> price_source(const Node& node, const Catalog& catalog) {
  if (node.price) return PriceSource{&node, 1, true};
  if (node.price_like.empty()) return std::nullopt;
  const Node* like = catalog.find<Node>(node.price_like);
  // One step only: a price that stands for one that stands for a third would be a rumour.
  if (!like || !like->price || !like->has_accelerators()) return std::nullopt;
  return PriceSource{like, double(node.accelerator_count) / like->accelerator_count, false};
}

std::string per_hour(DollarsPerSecond rent) { return price_text(rent * 1_h); }

NodeCost bought_at(Dollars price, Seconds over) {
  return {
      price / over, true,
      fmt::format("bought at {} a node, written off over {:.3g} years", price_text(price), over / (365.25 * 1_days))};
}

/// A kind of rent in the order in which `auto` looks for them; a purchase comes last.
struct Rent {
  PriceBasis basis;
  std::optional<DollarsPerSecond> NodePrice::*price;
  const char* words;
};
constexpr Rent kRents[] = {
    {PriceBasis::on_demand, &NodePrice::on_demand, "on demand"},
    {PriceBasis::monthly, &NodePrice::monthly, "rented by the month"},
    {PriceBasis::capacity_block, &NodePrice::capacity_block, "capacity block"},
    {PriceBasis::reserved_one_year, &NodePrice::reserved_one_year, "reserved for a year"},
    {PriceBasis::reserved_three_years, &NodePrice::reserved_three_years, "reserved for three years"}};
/// Of these, what `auto` takes: a reservation binds for years, which is for the user to say.
constexpr std::size_t kAutomaticRents = 3;

/// The middle of what spot instances have cost.
std::optional<NodeCost> spot_cost(const NodePrice& price) {
  if (!price.spot_low && !price.spot_high) return std::nullopt;
  const DollarsPerSecond low = price.spot_low.value_or(price.spot_high.value_or(DollarsPerSecond(0)));
  const DollarsPerSecond high = price.spot_high.value_or(low);
  return NodeCost{(low + high) / 2, false, fmt::format("spot, {} to {} an hour a node", per_hour(low), per_hour(high))};
}

std::optional<NodeCost> rent(const NodePrice& price, const Rent& kind) {
  if (!(price.*kind.price)) return std::nullopt;
  const DollarsPerSecond each = *(price.*kind.price);
  if (kind.basis == PriceBasis::monthly)
    return NodeCost{each, false, fmt::format("rented at {} a month a node", price_text(each * kMonth))};
  return NodeCost{each, false, fmt::format("{}, {} an hour a node", kind.words, per_hour(each))};
}

std::optional<NodeCost> node_cost(const NodePrice& price, PriceBasis basis, Seconds over) {
  if (basis == PriceBasis::spot) return spot_cost(price);
  if (basis == PriceBasis::automatic) {
    for (std::size_t i = 0; i < kAutomaticRents; ++i)
      if (auto found = rent(price, kRents[i])) return found;
  }
  for (const Rent& kind : kRents)
    if (kind.basis == basis) return rent(price, kind);
  return price.purchase ? std::optional(bought_at(*price.purchase, over)) : std::nullopt;
}

/// The user's own price, if there is one: of cluster.node, other kinds of nodes have none (leave_to_catalogue).
std::optional<NodeCost> stated_cost(const Scenario& scenario) {
  const CostSpec& spec = scenario.spec.cluster.cost;
  if (spec.node_rent)
    return NodeCost{*spec.node_rent, false,
                    fmt::format("rented at {} an hour a node, as stated", per_hour(*spec.node_rent))};
  if (!spec.node_purchase) return std::nullopt;
  NodeCost out = bought_at(*spec.node_purchase, amortisation(scenario));
  out.words += ", as stated";
  return out;
}

std::string source_words(const Scenario& scenario, const PriceSource& source) {
  const std::optional<Evidence> evidence = source.node->provenance.evidence_of("price");
  std::string out =
      fmt::format(" ({}{}{})", source.node->price->date, evidence ? ", " : "", evidence ? name_of(*evidence) : "");
  if (!source.own)
    out += fmt::format("; that is {}'s price, taken per accelerator as {} has none of its own: an estimate",
                       source.node->id, scenario.node->id);
  return out;
}

/// One node of the scenario's own kind.
std::optional<NodeCost> cost_of_own_kind(const Scenario& scenario, const Catalog& catalog) {
  if (auto stated = stated_cost(scenario)) return stated;
  const std::optional<PriceSource> source = price_source(*scenario.node, catalog);
  if (!source) return std::nullopt;
  auto cost = node_cost(*source->node->price, scenario.spec.cluster.cost.basis, amortisation(scenario));
  if (!cost) return std::nullopt;
  cost->servers *= source->scale;
  cost->words += source_words(scenario, *source);
  return cost;
}

/// What a bought cluster pays beside its servers; `bought`: those of the nodes that are.
void add_ownership(CostRate& rate, const Scenario& scenario, DollarsPerSecond bought, Watts average_power,
                   std::optional<Dollars> network) {
  const auto [price, known] = electricity_price(scenario);
  const double upkeep = scenario.spec.cluster.cost.upkeep_percent_per_year / 100;
  rate.electricity = average_power * price;
  if (network) rate.network = *network / amortisation(scenario);
  rate.upkeep = (bought + rate.network) * (amortisation(scenario) / (365.25 * 1_days)) * upkeep;
  if (network) rate.basis += fmt::format("; network {}", humane(*network));
  if (upkeep > 0) rate.basis += fmt::format("; upkeep {:.3g} % a year", 100 * upkeep);
  rate.basis +=
      fmt::format("; electricity at {}/kWh{}", price_text(price * 1_kWh), known ? "" : ", the world's business mean");
}

}  // namespace

bool offered(const Node& node, PriceBasis basis, const Catalog& catalog) {
  const std::optional<PriceSource> source = price_source(node, catalog);
  return source && node_cost(*source->node->price, basis, kAmortisation);
}

bool is_rented(const Scenario& scenario, const Catalog& catalog) {
  const std::optional<NodeCost> cost = cost_of_own_kind(scenario, catalog);
  return cost && !cost->bought;
}

std::optional<Dollars> purchase_price(const Node& node, const Catalog& catalog) {
  const std::optional<PriceSource> source = price_source(node, catalog);
  if (!source || !source->node->price->purchase) return std::nullopt;
  return *source->node->price->purchase * source->scale;
}

std::optional<Dollars> price_on_terms(const Scenario& scenario, const Catalog& catalog) {
  if (is_rented(scenario, catalog)) return Dollars(0);
  if (const auto& stated = scenario.spec.cluster.cost.node_purchase) return stated;
  return purchase_price(*scenario.node, catalog);
}

std::optional<CostRate> cost_rate(const Scenario& scenario, const Catalog& catalog, Watts average_power,
                                  std::optional<Dollars> network) {
  CostRate rate;
  DollarsPerSecond bought;
  int bought_nodes = 0;
  const std::vector<NodeKind> kinds = node_kinds(scenario);
  for (const NodeKind& kind : kinds) {
    const std::optional<NodeCost> cost = cost_of_own_kind(*kind.scenario, catalog);
    if (!cost) return std::nullopt;
    const DollarsPerSecond of_kind = kind.nodes * cost->servers;
    rate.servers += of_kind;
    if (cost->bought) {
      bought += of_kind;
      bought_nodes += kind.nodes;
    }
    if (!rate.basis.empty()) rate.basis += "; ";
    if (kinds.size() > 1) rate.basis += fmt::format("{} × {} ", kind.nodes, kind.scenario->node->id);
    rate.basis += cost->words;
    if (!cost->bought) rate.basis += "; electricity included";
  }
  // Of bought and of rented nodes together, the bought ones pay for their share of the power.
  const double share = static_cast<double>(bought_nodes) / scenario.spec.cluster.nodes;
  if (bought_nodes > 0) add_ownership(rate, scenario, bought, average_power * share, network);
  // The catalogue's storage has no prices.
  if (scenario.storage != nullptr) rate.basis += fmt::format("; storage {} left out", scenario.storage->id);
  return rate;
}

std::vector<std::string> kinds_without_price(const Scenario& scenario, const Catalog& catalog) {
  std::vector<std::string> out;
  for (const NodeKind& kind : node_kinds(scenario))
    if (!cost_of_own_kind(*kind.scenario, catalog)) out.push_back(kind.scenario->node->id);
  return out;
}

}  // namespace stepcast
