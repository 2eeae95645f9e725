#include "models/fabric/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/fabric/plan/dragonfly.hpp"
#include "models/fabric/router.hpp"

namespace stepcast {

namespace {

/// Pairs of nodes that are tried one by one; of larger fabrics those with the first node.
constexpr int kMostNodesInPairs = 128;

class Findings {
 public:
  Findings(const Fabric& fabric, const FabricInventory& inventory, NetworkKind network, int nics, BytesPerSecond rate)
      : fabric_(fabric), spec_(fabric.spec()), inventory_(inventory), network_(network), nics_(nics), rate_(rate) {}

  std::vector<FabricFinding> find() {
    if (fabric_.nodes() < 2) {
      warn("one node needs no network");
      return std::move(out_);
    }
    ways();
    ports();
    ratios();
    suitability();
    return std::move(out_);
  }

 private:
  void fault(std::string message) { out_.push_back({true, std::move(message)}); }
  void warn(std::string message) { out_.push_back({false, std::move(message)}); }
  [[nodiscard]] bool torus() const { return fabric_.torus() != nullptr; }

  void ways() {
    Router router(fabric_, FabricRouting::adaptive);
    std::vector<int> route;
    const int each = fabric_.devices_per_node();
    const int starts = fabric_.nodes() <= kMostNodesInPairs ? fabric_.nodes() : 1;
    int lost = 0;
    std::string first;
    for (int from = 0; from < starts; ++from)
      for (int to = 0; to < fabric_.nodes(); ++to) {
        if (from == to) continue;
        try {
          router.route(from * each, to * each, 0, route);
        } catch (const InputError& error) {
          if (lost++ == 0) first = error.faults().front().message;
        }
      }
    if (lost > 0) fault(fmt::format("{} (and {} more)", first, lost - 1));
  }

  void ports() {
    const SwitchPart* part = fabric_.network_switch();
    if (part == nullptr || part->ports == 0) return;
    const int has = SwitchFigures::of(part, rate_).ports;
    for (const SwitchTier& tier : inventory_.tiers) {
      if (tier.most_ports <= has) continue;
      const std::string message = fmt::format("a {} switch needs {} ports of {:g} Gb/s, but {} has {}", tier.name,
                                              tier.most_ports, rate_.in(1_Gbps), part->id, has);
      if (spec_.switch_id.empty())
        warn(message + ": a larger or modular switch, or more tiers");
      else
        fault(message);
    }
    if (part->port_bandwidth && rate_ > *part->port_bandwidth * (1 + 1e-9))
      warn(fmt::format("no switch of the catalogue has ports of {:g} Gb/s; {} stands for one", rate_.in(1_Gbps),
                       part->id));
  }

  void ratios() {
    const auto& levels = fabric_.levels().levels;
    for (std::string& words : ratios_without_effect(spec_, fabric_.levels(), fabric_.nodes())) warn(std::move(words));
    const bool dragonfly = spec_.preset == FabricPreset::dragonfly || spec_.preset == FabricPreset::dragonfly_plus;
    for (const FabricLevel& level : levels) {
      const bool outermost = &level == &levels.back();
      const double ratio = rate_ * nics_ * level.nodes / level.up;
      const double asked = spec_.oversubscription * spec_.core_oversubscription;
      // Within a tenth: cables come whole.
      if (dragonfly && outermost && !spec_.wan && ratio > 1.1 * asked)
        fault(
            fmt::format("{0} of {1} nodes are oversubscribed {2:.2f}:1, but {3:g}:1 is asked for: {4} {0} leave that "
                        "few cables between two",
                        levels.size() > 1 ? "groups" : "routers", level.nodes, ratio, asked,
                        (fabric_.nodes() + level.nodes - 1) / level.nodes));
    }
  }

  void suitability() {
    if (network_ == NetworkKind::ici && !torus())
      warn("the chips' own links (ici) form a torus: preset \"torus-2d\" or \"torus-3d\"");
    if (network_ != NetworkKind::ici && torus())
      warn(fmt::format("NICs of {} share their rate among the {} links of a torus", name_of(network_),
                       2 * fabric_.torus()->axes));
    const bool rails = spec_.preset == FabricPreset::rail_optimized || spec_.preset == FabricPreset::rail_only;
    if (rails && nics_ == 1) warn("a node has one NIC, so there is one rail");
    if (rails && nics_ > fabric_.devices_per_node())
      warn(fmt::format("{} rails for {} devices: a device has several", nics_, fabric_.devices_per_node()));
    if (!torus()) return;
    int longest = 0, shortest = fabric_.torus()->size(0);
    for (int axis = 0; axis < fabric_.torus()->axes; ++axis) {
      longest = std::max(longest, fabric_.torus()->size(axis));
      shortest = std::min(shortest, fabric_.torus()->size(axis));
    }
    // Half of the NICs meet the other half over the two faces of the longest axis: its length decides.
    if (longest > 4 * shortest)
      warn(fmt::format("the torus is {} long and {} wide, because {} nodes have no evener factors", longest, shortest,
                       fabric_.nodes()));
  }

  const Fabric& fabric_;
  const FabricSpec& spec_;
  const FabricInventory& inventory_;
  NetworkKind network_;
  int nics_;
  BytesPerSecond rate_;
  std::vector<FabricFinding> out_;
};

}  // namespace

std::vector<std::string> ratios_without_effect(const FabricSpec& spec, const FabricLevels& levels, int nodes) {
  std::vector<std::string> out;
  const std::size_t tiers = levels.levels.size() - (spec.wan && !levels.levels.empty() ? 1 : 0);
  if (spec.oversubscription > 1 && tiers == 0 && !spec.wan)
    out.push_back(
        fmt::format("oversubscription {:g} has no effect: one switch{} joins all {} nodes; nodes_per_leaf makes leaves "
                    "smaller",
                    spec.oversubscription, levels.rails_apart ? " for each rail" : "", nodes));
  if (spec.core_oversubscription > 1 && tiers < 2)
    out.push_back(
        fmt::format("core_oversubscription {:g} has no effect: no traffic passes cores; nodes_per_pod makes "
                    "pods smaller",
                    spec.core_oversubscription));
  return out;
}

std::vector<FabricFinding> find_in_fabric(const Fabric& fabric, const FabricInventory& inventory, NetworkKind network,
                                          int nics, BytesPerSecond nic_bandwidth) {
  return Findings(fabric, inventory, network, nics, nic_bandwidth).find();
}

}  // namespace stepcast
