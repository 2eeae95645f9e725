#pragma once

#include <algorithm>
#include <string>

#include "models/fabric/fabric.hpp"
#include "models/fabric/network_switch.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::test {

inline FabricSpec preset(FabricPreset preset) {
  FabricSpec spec;
  spec.preset = preset;
  return spec;
}

/// A fabric of a catalogue node with its own NICs and the usual switch.
inline Fabric fabric_of(const std::string& node_id, int nodes, const FabricSpec& spec,
                        FabricDetail detail = FabricDetail::switches) {
  const Catalog& catalog = test::catalog();
  const Node& node = *catalog.find<Node>(node_id);
  const int nics = spec.nics_per_node.value_or(node.training_nics());
  const BytesPerSecond rate =
      spec.nic_bandwidth.value_or(node.training_bandwidth() / std::max(1, node.training_nics()));
  const NetworkKind kind = node.nics.empty() ? NetworkKind::infiniband : node.nics.front().kind;
  Diagnostics diagnostics("test");
  const SwitchPart* part = network_switch(spec, kind, rate, catalog, "", diagnostics);
  diagnostics.throw_if_faulty();
  return build_fabric(spec, node, nodes, nics, rate, part, catalog, detail);
}

/// A host of one device and one NIC.
inline Node plain_host() {
  Node node;
  node.id = "plain-host";
  node.accelerator_count = 1;
  return node;
}

/// A switch of so many ports of 100 Gb/s.
inline SwitchPart switch_of(int ports) {
  SwitchPart part;
  part.id = "test-switch";
  part.ports = ports;
  part.port_bandwidth = 100_Gbps;
  part.latency = Seconds(100e-9);
  return part;
}

/// A fabric of plain hosts, NICs and ports of 100 Gb/s, on switches of so many ports.
inline Fabric plain_fabric(int hosts, const SwitchPart& part, const FabricSpec& spec,
                           FabricDetail detail = FabricDetail::switches) {
  return build_fabric(spec, plain_host(), hosts, 1, 100_Gbps, &part, catalog(), detail);
}

}  // namespace stepcast::test
