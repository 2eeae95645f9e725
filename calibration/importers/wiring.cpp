#include "calibration/importers/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/importers/pci_devices.hpp"

namespace stepcast {

namespace {

/// More native links than any accelerator has had (Rubin: 36), should it be unknown which it is.
constexpr int kMostLinks = 36;

int links_between(const Wiring& wiring, int a, int b) {
  int sum = 0;
  for (const auto& [low, high, links] : wiring.links)
    if (low == std::min(a, b) && high == std::max(a, b)) sum += links;
  return sum;
}

/// The number of links that every pair has alike; 0 when pairs differ.
int links_of_every_pair(const Wiring& wiring) {
  const int n = static_cast<int>(wiring.accelerators.size());
  const int first = n < 2 ? 0 : links_between(wiring, 0, 1);
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      if (links_between(wiring, a, b) != first) return 0;
  return first;
}

NodeInterconnect switched(const Wiring& wiring, int links) {
  NodeInterconnect out;
  out.kind = wiring.hosts > 1 ? NodeTopology::nvswitch_rack : NodeTopology::nvswitch;
  out.links_per_accelerator = links;
  out.switches = wiring.native_switches;
  return out;
}

NodeInterconnect meshed(const Wiring& wiring, int links_per_pair, int links_of_one) {
  const int n = static_cast<int>(wiring.accelerators.size());
  NodeInterconnect out;
  const int most = links_of_one > 0 ? links_of_one : kMostLinks;
  if (wiring.behind_switch || (n > 2 && links_per_pair * (n - 1) > most)) return switched(wiring, links_per_pair);
  out.kind = n == 2 ? NodeTopology::pair : NodeTopology::mesh;
  out.links_per_pair = links_per_pair;
  return out;
}

NodeInterconnect link_by_link(const Wiring& wiring) {
  NodeInterconnect out;
  out.kind = NodeTopology::hybrid_cube_mesh;
  std::map<std::pair<int, int>, int> links;
  for (const auto& [a, b, count] : wiring.links) links[{a, b}] += count;
  for (const auto& [pair, count] : links) out.links.push_back({pair.first, pair.second, count});
  return out;
}

/// The slowest path counts where accelerators wait for one another; 0: none is told.
int slowest_generation(const Wiring& wiring) {
  int out = 0;
  for (const WiredAccelerator& one : wiring.accelerators)
    if (const int own = one.path_gen > 0 ? one.path_gen : one.pcie_gen; own > 0)
      out = out == 0 ? own : std::min(out, own);
  return out;
}

bool has_rdma(const WiredNic& nic) {
  if (nic.kind) return *nic.kind != NetworkKind::ethernet_tcp;
  return !nic_name_allows(nic.name, NetworkKind::ethernet_tcp);
}

/// Where places tell no NICs apart, rates may: slower ones beside enough fast ones are for storage and management.
void leave_out_slower(const Wiring& wiring, std::vector<bool>& training) {
  BytesPerSecond highest;
  std::size_t fastest = 0;
  for (std::size_t i = 0; i < training.size(); ++i) {
    if (!training[i]) continue;
    if (!wiring.nics[i].bandwidth) return;
    if (*wiring.nics[i].bandwidth > highest) fastest = 0;
    highest = std::max(highest, *wiring.nics[i].bandwidth);
    if (*wiring.nics[i].bandwidth == highest) ++fastest;
  }
  if (2 * fastest < wiring.accelerators.size()) return;
  for (std::size_t i = 0; i < training.size(); ++i) training[i] = training[i] && *wiring.nics[i].bandwidth == highest;
}

template <class Part>
std::string members(const std::vector<Part>& parts, int numa, int bridge) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].numa == numa && parts[i].bridge == bridge) out += fmt::format(" {}", i);
  return out;
}

}  // namespace

NodeInterconnect interconnect_of_wiring(const Wiring& wiring, int links_of_one) {
  int switch_links = 0;
  for (const WiredAccelerator& one : wiring.accelerators) switch_links = std::max(switch_links, one.switch_links);
  if (switch_links > 0) return switched(wiring, switch_links);
  if (!wiring.links.empty()) {
    if (const int each = links_of_every_pair(wiring); each > 0) return meshed(wiring, each, links_of_one);
    return link_by_link(wiring);
  }
  NodeInterconnect out;
  out.kind = wiring.accelerators.size() < 2 ? NodeTopology::single : NodeTopology::pcie;
  out.pcie_gen = slowest_generation(wiring);
  if (out.kind == NodeTopology::single) out.pcie_gen = 0;
  return out;
}

int hosts_of(const Node& node) {
  if (node.interconnect.kind != NodeTopology::nvswitch_rack) return 1;
  const auto trays = node.figures.find("compute_trays");
  return trays == node.figures.end() ? 1 : static_cast<int>(trays->second);
}

std::vector<bool> training_nics_of(const Wiring& wiring) {
  std::set<int> bridges;
  for (const WiredAccelerator& one : wiring.accelerators)
    if (one.bridge >= 0) bridges.insert(one.bridge);
  std::vector<bool> out;
  for (const WiredNic& nic : wiring.nics) out.push_back(bridges.count(nic.bridge) > 0);
  const bool placed = std::find(out.begin(), out.end(), true) != out.end();
  if (!placed) out.assign(out.size(), true);
  const auto trains_by_rdma = [&] {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] && has_rdma(wiring.nics[i])) return true;
    return false;
  };
  if (trains_by_rdma())
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] && has_rdma(wiring.nics[i]);
  if (!placed) leave_out_slower(wiring, out);
  return out;
}

std::string pcie_tree_text(const Wiring& wiring) {
  std::set<std::pair<int, int>> places;
  for (const WiredAccelerator& one : wiring.accelerators) places.insert({one.numa, one.bridge});
  for (const WiredNic& nic : wiring.nics) places.insert({nic.numa, nic.bridge});
  std::map<int, std::string> by_numa;
  bool told = false;
  for (const auto& [numa, bridge] : places) {
    told = told || numa >= 0 || bridge >= 0;
    const std::string gpus = members(wiring.accelerators, numa, bridge), nics = members(wiring.nics, numa, bridge);
    std::string group = gpus.empty() ? "" : "gpu" + gpus;
    if (!nics.empty()) group += (group.empty() ? "nic" : ", nic") + nics;
    by_numa[numa] += bridge >= 0 ? fmt::format(" [{}]", group) : " " + group;
  }
  if (!told) return {};
  std::string out;
  for (const auto& [numa, groups] : by_numa)
    out += fmt::format("{}{}:{}", out.empty() ? "" : "; ", numa < 0 ? "no NUMA node" : fmt::format("NUMA {}", numa),
                       groups);
  return out;
}

}  // namespace stepcast
