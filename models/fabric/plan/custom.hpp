#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/levels.hpp"
#include "models/fabric/plan/switch_figures.hpp"

namespace stepcast {

/// One end of a custom cable: a switch (by its place in the spec's list), or a node and all or one of its NICs.
struct CableEnd {
  int network_switch = -1;  ///< −1: a node
  int node = -1;
  std::optional<int> nic;  ///< none: all of the node's
};

/// Reads the ends of cables.
class CableReader {
 public:
  explicit CableReader(const std::vector<FabricSwitchSpec>& switches);

  /// `leaf1`, `node3` or `node3:nic1`. A switch's name goes first, so a switch may be called node3. Empty when it is
  /// none of them.
  [[nodiscard]] std::optional<CableEnd> read(const std::string& text) const;

 private:
  std::unordered_map<std::string, int> names_;
};

/// Rate at which all NICs of a custom fabric can be used: that of the slowest port that cables from a node meet, for a
/// port and its cable agree on what both can do. `rate` where all cables carry it.
BytesPerSecond cabled_nic_rate(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate);

/// The nodes themselves where their cables take longer than usual ones, and the switches that nodes hang on, each with
/// the cables to other switches. Exact where all are alike; else the slowest cable and the scarcest switch stand for
/// all, and the farthest two switches for all pairs.
FabricLevels custom_levels(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate,
                           const SwitchFigures& figures);

}  // namespace stepcast
