#pragma once

#include <string>
#include <vector>

#include "models/fabric/fabric.hpp"
#include "models/fabric/metrics.hpp"

namespace stepcast {

/// Something about a fabric that its owner should know.
struct FabricFinding {
  bool fault = false;  ///< it cannot work, or not as asked; else a warning
  std::string message;
};

/// Ratios that a fabric states and has no links for, in words.
std::vector<std::string> ratios_without_effect(const FabricSpec& spec, const FabricLevels& levels, int nodes);

/// Looks a fabric over (drawn with the detail `switches`): ends that do not meet, switches with more cables than ports
/// (a fault where the spec names the switch, else a hint that a larger one is needed), more oversubscription than
/// asked, settings without effect, and networks that suit neither nodes nor count.
std::vector<FabricFinding> find_in_fabric(const Fabric& fabric, const FabricInventory& inventory, NetworkKind network,
                                          int nics, BytesPerSecond nic_bandwidth);

}  // namespace stepcast
