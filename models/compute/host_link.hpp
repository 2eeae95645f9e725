#pragma once

#include "hardware-catalog/parts.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// The link between a device and its processor that is no PCIe (NVLink-C2C, POWER9's NVLink): the node's, else the
/// accelerator's own. Null where they meet over PCIe.
const HostLink* coherent_host_link(const Node& node, const Accelerator& accelerator);

/// Raw rate of a device's PCIe, per direction: its own, halved for each generation that the node's slots are behind it.
BytesPerSecond pcie_link(const Node& node, const Accelerator& accelerator);

/// Raw rate between a device and its host, per direction: its share of a link that several devices have together.
BytesPerSecond raw_host_link(const Node& node, const Accelerator& accelerator);

/// What copies between a device and pinned memory of its host reach of it. Without a profile, or with one that is
/// silent, the usual share of PCIe.
BytesPerSecond host_link_rate(const Node& node, const Accelerator& accelerator, const ComputeProfile* compute);
/// REQUIRES: the scenario's devices are accelerators.
BytesPerSecond host_link_rate(const Scenario& scenario);

}  // namespace stepcast
