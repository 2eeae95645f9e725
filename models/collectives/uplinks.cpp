#include <algorithm>
#include <bit>

#include "models/collectives/collective.hpp"

namespace stepcast {

BytesPerSecond Interconnect::network_rate(const GroupShape& group, MessagePattern pattern) const {
  const BytesPerSecond own = rank_network > BytesPerSecond(0) ? rank_network : node_network;
  const int senders = pattern == MessagePattern::next ? 1 : std::min(group.per_node, group.size);
  const double ranks = static_cast<double>(senders) * group.groups_per_node;
  BytesPerSecond rate = std::min(own, node_network / ranks);
  for (std::size_t level = 0; level < uplinks.size(); ++level) {
    const double load = group.above[level].of(pattern);
    if (load > 0) rate = std::min(rate, uplinks[level].up / (ranks * load));
  }
  return rate;
}

Seconds Interconnect::ring_hops(const GroupShape& group, double passes) const {
  Seconds sum;
  for (std::size_t level = 0; level < uplinks.size(); ++level)
    sum += uplinks[level].hop * (passes * group.above[level].crossings);
  return sum;
}

Seconds Interconnect::tree_hops(const GroupShape& group) const {
  Seconds sum;
  for (std::size_t level = 0; level < uplinks.size(); ++level) {
    // A binary tree over the members of a level is as deep as the logarithm of their number.
    const auto members = static_cast<unsigned>(std::max(group.above[level].crossings, 1));
    sum += uplinks[level].hop * (2.0 * std::bit_width(members - 1));
  }
  return sum;
}

Seconds Interconnect::direct_hops(const GroupShape& group) const {
  Seconds sum;
  for (std::size_t level = 0; level < uplinks.size(); ++level)
    if (group.above[level].crossings > 0) sum += uplinks[level].hop;
  return sum;
}

}  // namespace stepcast
