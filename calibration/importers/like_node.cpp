#include "calibration/importers/like_node.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "calibration/importers/pci_devices.hpp"

namespace stepcast {

namespace {

/// Every good entry of a kind: a faulty one of the user's is no candidate, and no reason to stop here.
template <class T>
std::vector<const T*> all_of(std::string_view kind, const Catalog& catalog) {
  std::vector<const T*> out;
  for (const std::string& id : catalog.ids(kind)) {
    Diagnostics unused{""};
    if (const T* part = catalog.find<T>(id, "", unused)) out.push_back(part);
  }
  return out;
}

std::vector<const Node*> all_nodes(const Catalog& catalog) { return all_of<Node>("nodes", catalog); }

/// The most native links that the wiring shows of one accelerator.
int links_seen(const Wiring& wiring) {
  std::vector<int> links(wiring.accelerators.size());
  for (std::size_t i = 0; i < links.size(); ++i) links[i] = wiring.accelerators[i].switch_links;
  if (wiring.behind_switch) {
    for (const auto& [a, b, count] : wiring.links)
      for (const int end : {a, b})
        links[static_cast<std::size_t>(end)] = std::max(links[static_cast<std::size_t>(end)], count);
  }
  return links.empty() ? 0 : *std::max_element(links.begin(), links.end());
}

/// The most native links that one accelerator has to the others, pair by pair.
int most_links_of_one(const Wiring& wiring) {
  std::vector<int> sums(wiring.accelerators.size());
  for (const auto& [a, b, count] : wiring.links)
    for (const int end : {a, b}) sums[static_cast<std::size_t>(end)] += count;
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

/// Switched links use all that the accelerator has.
bool fits_links(const Accelerator& one, const Wiring& wiring) {
  const int has = one.interconnect ? one.interconnect->links : 0;
  if (const int seen = links_seen(wiring); seen > 0) return has == seen;
  if (wiring.links.empty()) return true;
  const NodeInterconnect shape = interconnect_of_wiring(wiring, has);
  if (shape.kind == NodeTopology::nvswitch) return has == shape.links_per_accelerator;
  if (shape.kind == NodeTopology::mesh || shape.kind == NodeTopology::pair)
    return has >= shape.links_per_pair * (static_cast<int>(wiring.accelerators.size()) - 1);
  return has >= most_links_of_one(wiring);
}

/// The accelerator that the wiring names outright; empty when it does not.
std::string_view named(const WiredAccelerator& seen) {
  const auto id = accelerator_of_pci(seen.pci);
  return id.empty() ? accelerator_of_model(seen.model) : id;
}

/// A family is told apart from the next generation's: `amd-cdna` has `amd-cdna-x`, and is not `amd-cdna3`.
bool is_of_family(const Accelerator& accelerator, std::string_view family) {
  const std::string_view own = accelerator.family;
  return own.starts_with(family) && (own.size() == family.size() || own[family.size()] == '-');
}

bool fits_facts(const Accelerator& accelerator, const Wiring& wiring) {
  const WiredAccelerator& seen = wiring.accelerators.front();
  if (wiring.coherent && *wiring.coherent != accelerator.cpu_link.has_value()) return false;
  // A link runs at most as fast as the accelerator's own PCIe generation.
  if (seen.pcie_gen > 0 && accelerator.pcie_gen > 0 && accelerator.pcie_gen < seen.pcie_gen) return false;
  // RCCL writes the number of compute units where NCCL has the compute capability, so the architecture goes first. An
  // architecture that no family is of fits nothing.
  if (!seen.gcn.empty()) return !family_of_gcn(seen.gcn).empty() && is_of_family(accelerator, family_of_gcn(seen.gcn));
  if (const auto family = family_of_sm(seen.sm); !family.empty()) return is_of_family(accelerator, family);
  if (seen.pci.starts_with("10de:")) return accelerator.vendor == "NVIDIA";
  if (seen.pci.starts_with("1002:")) return accelerator.vendor == "AMD";
  return true;
}

struct NicCounts {
  int training = 0, all = 0;
};

NicCounts nics_of(const Node& node) {
  NicCounts out;
  for (const Nic& nic : node.nics) {
    out.all += nic.count;
    if (nic.training) out.training += nic.count;
  }
  return out;
}

NicCounts nics_of(const Wiring& wiring) {
  const std::vector<bool> training = training_nics_of(wiring);
  return {static_cast<int>(std::count(training.begin(), training.end(), true)), static_cast<int>(training.size())};
}

int nic_likeness(const Wiring& wiring, const Node& node) {
  const NicCounts here = nics_of(wiring), there = nics_of(node);
  int score = 0;
  if (here.training == there.training) score += 4;
  for (std::size_t i = 0; i < wiring.nics.size(); ++i) {
    const WiredNic& nic = wiring.nics[i];
    const auto same_rate = [&](const Nic& other) { return nic.bandwidth && other.bandwidth == *nic.bandwidth; };
    const auto same_kind = [&](const Nic& other) { return nic.kind && other.kind == *nic.kind; };
    if (i == 0 && std::any_of(node.nics.begin(), node.nics.end(), same_rate)) score += 2;
    if (i == 0 && std::any_of(node.nics.begin(), node.nics.end(), same_kind)) score += 3;
    const auto may_be = [&](const Nic& other) { return nic_name_allows(nic.name, other.kind); };
    if (i == 0 && std::none_of(node.nics.begin(), node.nics.end(), may_be)) score -= 3;
  }
  return score;
}

/// Higher is more alike. What the wiring does not tell counts neither way.
int likeness(const Wiring& wiring, const Accelerator& accelerator, const Node& node, const Catalog& catalog) {
  const int has = accelerator.interconnect ? accelerator.interconnect->links : 0;
  const NodeInterconnect shape = interconnect_of_wiring(wiring, has);
  int score = nic_likeness(wiring, node);
  if (wiring.links_told) {
    const NodeInterconnect& other = node.interconnect;
    if (shape.kind == other.kind) score += 10;
    if (shape.links_per_accelerator == other.links_per_accelerator && shape.links_per_pair == other.links_per_pair &&
        shape.links == other.links)
      score += 10;
  }
  if (!wiring.cpu_vendor.empty() && cpu_is_of(node.cpu, wiring.cpu_vendor, catalog)) score += 2;
  return score;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::vector<const Accelerator*> accelerators_allowed(const Wiring& wiring, const Catalog& catalog) {
  const WiredAccelerator first = wiring.accelerators.empty() ? WiredAccelerator{} : wiring.accelerators.front();
  if (const auto id = named(first); !id.empty()) {
    const auto* accelerator = catalog.find<Accelerator>(id);
    return accelerator ? std::vector<const Accelerator*>{accelerator} : std::vector<const Accelerator*>{};
  }
  // The driver's name of a model that the catalogue lacks: whatever else fits the wiring is another one.
  const std::vector<std::string_view> cut = accelerators_of_cut_model(first.model);
  if (!first.model.empty() && cut.empty()) return {};
  const auto may_be = [&](const Accelerator& one) {
    return cut.empty() || std::find(cut.begin(), cut.end(), one.id) != cut.end();
  };
  std::vector<const Accelerator*> out;
  for (const Accelerator* one : all_of<Accelerator>("accelerators", catalog))
    if (!wiring.accelerators.empty() && may_be(*one) && fits_facts(*one, wiring) && fits_links(*one, wiring))
      out.push_back(one);
  return out;
}

const Node* node_like(const Wiring& wiring, const std::vector<const Accelerator*>& accelerators,
                      const Catalog& catalog) {
  const std::vector<const Node*> nodes = all_nodes(catalog);
  std::map<std::string, int> nodes_with;
  for (const Node* node : nodes) ++nodes_with[node->accelerator];
  const int count = static_cast<int>(wiring.accelerators.size());
  const Node* best = nullptr;
  std::tuple<int, int, bool> best_score{-1, 0, false};
  for (const Node* node : nodes) {
    const auto of_node = [&](const Accelerator* one) { return one->id == node->accelerator; };
    const auto accelerator = std::find_if(accelerators.begin(), accelerators.end(), of_node);
    if (node->accelerator_count != count || accelerator == accelerators.end()) continue;
    // Among equals, the accelerator that more of the catalogue's nodes have; how many NICs serve storage differs by the
    // order of a server, and says nothing about that.
    const std::tuple score{likeness(wiring, **accelerator, *node, catalog), nodes_with[node->accelerator],
                           nics_of(wiring).all == nics_of(*node).all};
    if (score > best_score) best = node, best_score = score;
  }
  return best;
}

const Node* node_with(const Accelerator& accelerator, const Wiring& wiring, const std::function<bool(const Node&)>& has,
                      const Catalog& catalog) {
  const Node* best = nullptr;
  int best_score = 0;
  for (const Node* node : all_nodes(catalog)) {
    if (node->accelerator != accelerator.id || !has(*node)) continue;
    const int score = likeness(wiring, accelerator, *node, catalog);
    if (!best || score > best_score) best = node, best_score = score;
  }
  return best;
}

const Node* node_of_platform(std::string_view platform, const Catalog& catalog) {
  if (platform.empty()) return nullptr;
  for (const std::string& id : catalog.ids("nodes")) {
    const bool ends = id.size() > platform.size() && id[id.size() - platform.size() - 1] == '-' &&
                      std::string_view(id).substr(id.size() - platform.size()) == platform;
    if (id == platform || ends) return catalog.find<Node>(id);
  }
  return nullptr;
}

bool cpu_is_of(std::string_view cpu, std::string_view vendor, const Catalog& catalog) {
  struct Maker {
    std::string_view told, name;
  };
  // Of processors with Arm cores, the catalogue's servers have NVIDIA's.
  constexpr Maker kMakers[] = {{"GenuineIntel", "Intel"}, {"AuthenticAMD", "AMD"}, {"ARM", "NVIDIA"}};
  const Cpu* part = cpu.empty() ? nullptr : catalog.find<Cpu>(cpu);
  return part != nullptr && std::any_of(std::begin(kMakers), std::end(kMakers), [&](const Maker& maker) {
           return vendor == maker.told && part->vendor == maker.name;
         });
}

TypicalHost typical_host(const Catalog& catalog) {
  std::vector<double> memory, bandwidth;
  for (const Node* node : all_nodes(catalog)) {
    if (!node->has_accelerators()) continue;
    const auto* accelerator = catalog.find<Accelerator>(node->accelerator);
    if (!accelerator) continue;
    memory.push_back(node->memory / (accelerator->memory * node->accelerator_count));
    bandwidth.push_back((node->memory_bandwidth / node->accelerator_count).value());
  }
  return {median(memory), BytesPerSecond(median(bandwidth))};
}

}  // namespace stepcast
