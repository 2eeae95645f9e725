#pragma once

#include <vector>

#include "models/collectives/collective.hpp"

namespace stepcast {

/// Where the members of a communication group sit, by their place in the group.
struct GroupLayout {
  std::vector<int> devices;               ///< of the fabric
  std::vector<int> node;                  ///< which of the group's nodes, counted as they first appear
  std::vector<int> place;                 ///< which of the group's members on that node
  std::vector<std::vector<int>> members;  ///< by node and place: the places in the group

  GroupLayout(std::vector<int> ranks, int devices_per_node);
  [[nodiscard]] int size() const { return static_cast<int>(devices.size()); }
  [[nodiscard]] int nodes() const { return static_cast<int>(members.size()); }
  /// Member on another node that has the same place there, or stands in for it where there are fewer.
  [[nodiscard]] int peer(int other_node, int of_place) const {
    const auto& there = members[other_node];
    return there[of_place % static_cast<int>(there.size())];
  }
  /// As collective_plan takes it; the largest node stands for all.
  [[nodiscard]] GroupShape shape() const;
};

}  // namespace stepcast
