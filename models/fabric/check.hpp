#pragma once

#include <string>

#include "hardware-catalog/parts.hpp"
#include "models/fabric/fabric_spec.hpp"

namespace stepcast {

/// Checks that a fabric can be built at all: that the keys fit its preset, that a torus' dimensions hold the NICs, that
/// a dragonfly has no more groups than its routers can join, that node_order is a permutation, that custom cables name
/// what exists and leave no node out. Faults go to the diagnostics at `pointer` and below. What switches' ports allow
/// is a finding (find_in_fabric), not a fault: a spine may be a chassis. `part` may be null.
void check_fabric(const FabricSpec& spec, int nodes, int nics, BytesPerSecond nic_bandwidth, const SwitchPart* part,
                  const std::string& pointer, Diagnostics& diagnostics);

/// The part of it that concerns a custom fabric's switches and cables.
void check_custom_fabric(const FabricSpec& spec, int nodes, int nics, const std::string& pointer,
                         Diagnostics& diagnostics);

}  // namespace stepcast
