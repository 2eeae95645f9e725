#pragma once

#include <vector>

#include "models/fabric/fabric_link.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Switches and cables of a network while they are counted, without its graph: what a bill needs of a hundred thousand
/// nodes in milliseconds.
class PartsTally {
 public:
  /// The end of a cable that is a node, not a switch.
  static constexpr int kNode = -1;

  struct Switch {
    int level = 0;  ///< 0 leaf, 1 spine, 2 core, 3 a site's connection, 4 the wide-area network
    int ports = 0;  ///< in use
  };
  /// Equal cables between two kinds of ends; a kind is a switch's level, or kNode.
  struct Run {
    int from = kNode, to = kNode;
    BytesPerSecond bandwidth;  ///< of each
    long cables = 0;
    bool trunk = false;      ///< between switches
    bool wide_area = false;  ///< leads to a site's connection or beyond
  };

  /// The number of the switch.
  int add_switch(int level);
  /// Both directions of a link's cables; an end is the number of a switch, or kNode.
  void add_cables(int from, int to, const FabricLink& link);

  [[nodiscard]] const std::vector<Switch>& switches() const { return switches_; }
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

 private:
  [[nodiscard]] int level_of(int end) const {
    return end == kNode ? kNode : switches_[static_cast<std::size_t>(end)].level;
  }

  std::vector<Switch> switches_;
  std::vector<Run> runs_;  ///< few: kinds of ends and rates
};

}  // namespace stepcast
