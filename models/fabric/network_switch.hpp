#pragma once

#include "hardware-catalog/catalog.hpp"
#include "models/fabric/fabric_spec.hpp"

namespace stepcast {

/// The switch that a fabric is built of: the spec's own, or by default the usual one of the network's kind whose ports
/// have the NICs' rate (its ports need no splitting, and none is left half used). Null for a torus, which has none, and
/// where the spec names an unknown one: a fault at `pointer`/switch. A NIC faster than every switch gets the fastest.
const SwitchPart* network_switch(const FabricSpec& spec, NetworkKind kind, BytesPerSecond nic_bandwidth,
                                 const Catalog& catalog, const std::string& pointer, Diagnostics& diagnostics);

}  // namespace stepcast
