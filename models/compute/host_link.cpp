#include "models/compute/host_link.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {

// PCIe: 12.5 of 15.75 and 25.5 of 31.5 GB/s (links pcie3-x16, pcie4-x16). NVLink-C2C is no different: 375 of 450 GB/s
// to the device, though 297 from it (Schieffer et al. 2024, Harnessing Integrated CPU-GPU System Memory for HPC, GH200;
// recalled, not read again).
constexpr double kUsualShare = 0.80;

}  // namespace

const HostLink* coherent_host_link(const Node& node, const Accelerator& accelerator) {
  if (node.cpu_link) return &*node.cpu_link;
  return accelerator.cpu_link ? &*accelerator.cpu_link : nullptr;
}

BytesPerSecond pcie_link(const Node& node, const Accelerator& accelerator) {
  const int slots = node.interconnect.pcie_gen, own = accelerator.pcie_gen;
  const int behind = slots > 0 && own > 0 ? std::max(0, own - slots) : 0;
  return accelerator.pcie_bandwidth / std::exp2(behind);
}

BytesPerSecond raw_host_link(const Node& node, const Accelerator& accelerator) {
  if (const HostLink* link = coherent_host_link(node, accelerator))
    return link->bandwidth / static_cast<double>(link->shared_by_accelerators);
  return pcie_link(node, accelerator);
}

BytesPerSecond host_link_rate(const Node& node, const Accelerator& accelerator, const ComputeProfile* compute) {
  const double share = compute != nullptr && compute->host_link_share > 0 ? compute->host_link_share : kUsualShare;
  return raw_host_link(node, accelerator) * share;
}

BytesPerSecond host_link_rate(const Scenario& scenario) {
  return host_link_rate(*scenario.node, *scenario.accelerator, scenario.compute);
}

}  // namespace stepcast
