#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "models/fabric/metrics.hpp"

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

class Counter {
 public:
  Counter(const Fabric& fabric, const Catalog& catalog) : fabric_(fabric), catalog_(catalog) {}

  FabricInventory count() {
    const auto& graph = fabric_.graph();
    ports_.assign(boost::num_vertices(graph) - fabric_.first_switch(), 0);
    // Both directions of a cable are links: the one out of the lower vertex counts.
    for (int id = fabric_.first_network_link(); id < fabric_.link_count(); ++id) {
      const auto from = fabric_.source(id), to = fabric_.target(id);
      if (from >= fabric_.first_switch()) ports_[from - fabric_.first_switch()] += fabric_.link(id).cables;
      if (from < to) count_cable(fabric_.link(id), graph[from], graph[to]);
    }
    tiers();
    for (const auto& [name, run] : runs_) out_.cables.push_back(run);
    std::sort(out_.cables.begin(), out_.cables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    out_.ports = std::accumulate(ports_.begin(), ports_.end(), 0L);
    power_and_price();
    return std::move(out_);
  }

 private:
  static std::string end_name(const FabricVertex& v) {
    if (v.kind != VertexKind::network_switch) return "node";
    return v.level < kTierCount ? kTiers[v.level] : v.level == 3 ? "site" : "wide-area network";
  }

  void count_cable(const FabricLink& link, const FabricVertex& from, const FabricVertex& to) {
    if (link.kind == FabricLinkKind::wan || from.level == 3 || to.level == 3) return;
    const std::string name = fmt::format("{} to {}", end_name(from), end_name(to));
    const BytesPerSecond each = link.bandwidth / link.cables;
    CableRun& run = runs_[{name, std::lround(each.in(1_MBps))}];
    run.name = name;
    run.cables += link.cables;
    run.bandwidth = each;
    // A cable at less than its whole rate has the transceivers of the NICs' rate all the same.
    if (each >= kSlowestOptic * (1 - 1e-9) || link.kind == FabricLinkKind::trunk)
      optic_rate_ = std::max(optic_rate_, each);
    if (transceiver_of(std::max(each, optic_rate_), catalog_) != nullptr && fabric_.torus() == nullptr)
      out_.transceivers += 2L * link.cables;
  }

  void tiers() {
    std::map<int, SwitchTier> by_level;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const FabricVertex& v = fabric_.graph()[fabric_.first_switch() + i];
      if (v.level >= kTierCount) continue;
      SwitchTier& tier = by_level[v.level];
      const bool named = fabric_.spec().preset == FabricPreset::custom;
      tier.name = named ? "switch" : kTiers[v.level];
      ++tier.switches;
      tier.most_ports = std::max(tier.most_ports, ports_[i]);
    }
    for (auto& [level, tier] : by_level) out_.tiers.push_back(std::move(tier));
  }

  void power_and_price() {
    const SwitchPart* part = fabric_.network_switch();
    const auto switches = static_cast<double>(out_.switches());
    if (switches > 0 && part == nullptr) out_.unknown.emplace_back("the switch is not known");
    if (switches > 0 && part != nullptr) {
      const auto power = part->typical_power ? part->typical_power : part->max_power;
      if (power) out_.power = *power * switches;
      if (part->price) out_.price = *part->price * switches;
      if (!power) out_.unknown.push_back(fmt::format("power of {}", part->id));
      if (!part->price) out_.unknown.push_back(fmt::format("price of {}", part->id));
    }
    const LinkPart* optic = out_.transceivers > 0 ? transceiver_of(optic_rate_, catalog_) : nullptr;
    if (optic == nullptr) return;
    out_.transceiver = optic->id;
    const auto ends = static_cast<double>(out_.transceivers);
    if (const auto watts = optic->figure("power_W_per_end"); watts && out_.power) *out_.power += 1_W * *watts * ends;
    if (const auto price = optic->figure("price_usd"); !price)
      out_.unknown.push_back(fmt::format("price of {}", optic->id));
    else if (out_.price)
      *out_.price += 1_usd * *price * ends;
  }

  const Fabric& fabric_;
  const Catalog& catalog_;
  FabricInventory out_;
  std::vector<int> ports_;
  BytesPerSecond optic_rate_;
  std::map<std::pair<std::string, long>, CableRun> runs_;
};

}  // namespace

long FabricInventory::switches() const {
  long all = 0;
  for (const SwitchTier& tier : tiers) all += tier.switches;
  return all;
}

long FabricInventory::all_cables() const {
  long all = 0;
  for (const CableRun& run : cables) all += run.cables;
  return all;
}

FabricInventory inventory(const Fabric& fabric, const Catalog& catalog) { return Counter(fabric, catalog).count(); }

}  // namespace stepcast
