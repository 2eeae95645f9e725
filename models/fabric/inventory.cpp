#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "models/fabric/metrics.hpp"
#include "models/fabric/plan/switch_figures.hpp"
#include "models/fabric/switch_estimate.hpp"

namespace stepcast {

namespace {

constexpr const char* kTiers[] = {"leaf", "spine", "core"};
constexpr int kTierCount = 3;

/// The usual transceiver of a rate, up to that rate.
struct Optic {
  BytesPerSecond up_to;
  const char* id;
};
constexpr Optic kOptics[] = {{100_Gbps, "optic-100g-sr4"},
                             {200_Gbps, "optic-200g-sr4"},
                             {400_Gbps, "optic-400g-dr4"},
                             {800_Gbps, "optic-800g-2xdr4"},
                             {1600_Gbps, "optic-1600g"}};
/// Slower cables are copper.
constexpr BytesPerSecond kSlowestOptic = 100_Gbps;

const LinkPart* transceiver_of(BytesPerSecond rate, const Catalog& catalog) {
  if (rate < kSlowestOptic * (1 - 1e-9)) return nullptr;
  for (const Optic& optic : kOptics)
    if (rate <= optic.up_to * (1 + 1e-9)) return catalog.find<LinkPart>(optic.id);
  return nullptr;
}

std::string end_name(int level) {
  if (level < 0) return "node";
  return level < kTierCount ? kTiers[level] : level == 3 ? "site" : "wide-area network";
}

/// Turns what was tallied into parts, power and price.
class Bill {
 public:
  Bill(const PartsTally& tally, const FabricSpec& spec, bool torus, const SwitchPart* part, const Catalog& catalog)
      : tally_(tally), spec_(spec), torus_(torus), part_(part), catalog_(catalog) {}

  FabricInventory write() {
    cables();
    tiers();
    for (const PartsTally::Switch& one : tally_.switches()) out_.ports += one.ports;
    power_and_price();
    return std::move(out_);
  }

 private:
  void cables() {
    BytesPerSecond optic_rate;
    for (const PartsTally::Run& run : tally_.runs()) {
      if (run.wide_area) continue;
      out_.cables.push_back({fmt::format("{} to {}", end_name(run.from), end_name(run.to)), run.cables, run.bandwidth});
      if (run.bandwidth >= kSlowestOptic * (1 - 1e-9) || run.trunk) optic_rate = std::max(optic_rate, run.bandwidth);
      // A cable at less than its whole rate has the transceivers of the NICs' rate all the same.
      const bool optical = transceiver_of(std::max(run.bandwidth, optic_rate), catalog_) != nullptr && !torus_;
      if (optical) out_.transceivers += 2 * run.cables;
    }
    optic_ = out_.transceivers > 0 ? transceiver_of(optic_rate, catalog_) : nullptr;
    std::sort(out_.cables.begin(), out_.cables.end(), [](const CableRun& a, const CableRun& b) {
      return std::tie(a.name, a.bandwidth) < std::tie(b.name, b.bandwidth);
    });
  }

  /// Of the NICs, whose cables are those of the nodes.
  [[nodiscard]] BytesPerSecond nic_rate() const {
    BytesPerSecond out;
    for (const PartsTally::Run& run : tally_.runs())
      if (run.from == PartsTally::kNode) out = std::max(out, run.bandwidth);
    return out;
  }

  void tiers() {
    // A switch whose ports nobody knows is as large as it has to be.
    const int has = part_ != nullptr && part_->ports > 0 ? SwitchFigures::of(part_, nic_rate()).ports : 0;
    std::map<int, SwitchTier> by_level;
    for (const PartsTally::Switch& one : tally_.switches()) {
      if (one.level >= kTierCount) continue;
      SwitchTier& tier = by_level[one.level];
      tier.name = spec_.preset == FabricPreset::custom ? "switch" : kTiers[one.level];
      ++tier.switches;
      tier.most_ports = std::max(tier.most_ports, one.ports);
      tier.parts += has > 0 ? std::max(1, (one.ports + has - 1) / has) : 1;
    }
    for (auto& [level, tier] : by_level) {
      if (tier.parts > tier.switches) out_.composed.push_back(composed_words(tier, has));
      out_.tiers.push_back(std::move(tier));
    }
  }

  [[nodiscard]] std::string composed_words(const SwitchTier& tier, int has) const {
    return fmt::format(
        "{} {} of up to {} ports of {:g} Gb/s taken for at least {} {} of {} ports, without cables between "
        "them",
        tier.switches, tier.switches == 1 ? tier.name + " switch" : tier.name + " switches", tier.most_ports,
        nic_rate().in(1_Gbps), tier.parts, part_->id, has);
  }

  void power_and_price() {
    if (out_.switches() > 0) add_switches(static_cast<double>(out_.switch_parts()));
    if (optic_ != nullptr) add_optics(static_cast<double>(out_.transceivers));
  }

  void add_switches(double count) {
    if (part_ == nullptr) {
      out_.unknown.emplace_back("switches of no known kind");
      return;
    }
    std::optional<Watts> power = part_->typical_power ? part_->typical_power : part_->max_power;
    if (!power) power = estimated("power", estimated_power(*part_, catalog_), 1_W, "W");
    if (power) out_.power = *power * count;
    std::optional<Dollars> price = part_->price;
    if (!price) price = estimated("price", estimated_price(*part_, catalog_), 1_usd, "$");
    if (price) out_.price = *price * count;
  }

  /// Names what is estimated, or unknown, of the switch.
  template <class Q>
  std::optional<Q> estimated(const char* what, std::optional<Q> value, Q unit, const char* in) {
    const std::string name = fmt::format("{} of {}", what, part_->id);
    if (value)
      out_.estimated.push_back(fmt::format("{}, {:.0f} {}", name, value->in(unit), in));
    else
      out_.unknown.push_back(name);
    return value;
  }

  void add_optics(double ends) {
    out_.transceiver = optic_->id;
    if (const auto watts = optic_->figure("power_W_per_end"))
      out_.power = out_.power.value_or(Watts(0)) + 1_W * *watts * ends;
    const auto price = optic_->figure("price_usd");
    if (price)
      out_.price = out_.price.value_or(Dollars(0)) + 1_usd * *price * ends;
    else
      out_.unknown.push_back(fmt::format("price of {}", optic_->id));
  }

  const PartsTally& tally_;
  const FabricSpec& spec_;
  bool torus_;
  const SwitchPart* part_;
  const Catalog& catalog_;
  const LinkPart* optic_ = nullptr;
  FabricInventory out_;
};

}  // namespace

long FabricInventory::switches() const {
  long all = 0;
  for (const SwitchTier& tier : tiers) all += tier.switches;
  return all;
}

long FabricInventory::switch_parts() const {
  long all = 0;
  for (const SwitchTier& tier : tiers) all += tier.parts;
  return all;
}

long FabricInventory::all_cables() const {
  long all = 0;
  for (const CableRun& run : cables) all += run.cables;
  return all;
}

FabricInventory inventory(const PartsTally& tally, const FabricSpec& spec, bool torus, const SwitchPart* part,
                          const Catalog& catalog) {
  return Bill(tally, spec, torus, part, catalog).write();
}

FabricInventory inventory(const Fabric& fabric, const Catalog& catalog) {
  const auto& graph = fabric.graph();
  PartsTally tally;
  const auto first = fabric.first_switch();
  for (auto v = first; v < boost::num_vertices(graph); ++v) tally.add_switch(graph[v].level);
  const auto end_of = [&](Fabric::Vertex v) { return v < first ? PartsTally::kNode : static_cast<int>(v - first); };
  // Both directions of a cable are links: the one out of the lower vertex counts.
  for (int id = fabric.first_network_link(); id < fabric.link_count(); ++id)
    if (const auto from = fabric.source(id), to = fabric.target(id); from < to)
      tally.add_cables(end_of(from), end_of(to), fabric.link(id));
  return inventory(tally, fabric.spec(), fabric.torus() != nullptr, fabric.network_switch(), catalog);
}

}  // namespace stepcast
