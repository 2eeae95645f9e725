#include "sim/collective/group_layout.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace stepcast {

GroupLayout::GroupLayout(std::vector<int> ranks, int devices_per_node) : devices(std::move(ranks)) {
  std::unordered_map<int, int> number_of;
  for (int i = 0; i < size(); ++i) {
    const auto [entry, fresh] = number_of.try_emplace(devices[i] / devices_per_node, nodes());
    if (fresh) members.emplace_back();
    auto& there = members[entry->second];
    node.push_back(entry->second);
    place.push_back(static_cast<int>(there.size()));
    there.push_back(i);
  }
}

GroupShape GroupLayout::shape() const {
  GroupShape shape;
  shape.size = size();
  for (const auto& there : members) shape.per_node = std::max(shape.per_node, static_cast<int>(there.size()));
  return shape;
}

}  // namespace stepcast
