#include "models/parallelism/node_map.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "fields/splitmix64.hpp"
#include "models/collectives/channels.hpp"
#include "models/collectives/double_tree.hpp"
#include "models/fabric/placement.hpp"
#include "models/scenario/node_kinds.hpp"

namespace stepcast {

namespace {

/// Flows of hashed routes whose links are drawn: enough that the worst link of larger fabrics is no longer in doubt.
constexpr double kMostDraws = 20000;

/// Flows on the busiest of `links` links of any of `members` switches, each of which sends `flows` by hash.
int busiest_link(int members, int flows, int links, std::uint64_t seed) {
  std::vector<int> count(static_cast<std::size_t>(links));
  int most = 0;
  for (int member = 0; member < members; ++member) {
    std::fill(count.begin(), count.end(), 0);
    for (int flow = 0; flow < flows; ++flow) {
      const std::uint64_t key =
          splitmix64(seed ^ splitmix64((static_cast<std::uint64_t>(member) << 32) | unsigned(flow)));
      most = std::max(most, ++count[key % static_cast<std::uint64_t>(links)]);
    }
  }
  return most;
}

int edges_out(std::span<const int> members, int of) {
  int out = 0;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i] == of && members[(i + 1) % members.size()] != of) ++out;
  return out;
}

/// `visit(node, partner)`: nodes of a stage whose messages to another stage leave their member of a level, and the rank
/// that the first one goes to.
template <class Visit>
void each_sender(const NodeMap& map, const RankLayout& layout, std::size_t level, int from, int to, Visit visit) {
  const int distance = (to - from) * layout.stride(Axis::pipeline);
  layout.each_node_of_stage(from, [&](int node, int rank) {
    if (map.leaves(level, rank, rank + distance)) visit(node, rank + distance);
  });
}

}  // namespace

std::vector<int> nodes_of(const RankLayout& layout, std::span<const int> ranks) {
  std::vector<int> out;
  for (const int rank : ranks)
    if (const int node = layout.node_of(rank); out.empty() || out.back() != node) out.push_back(node);
  return out;
}

NodeMap::NodeMap(const Scenario& scenario, const RankLayout& layout, const JobNodes& nodes)
    : layout_(layout), nodes_(nodes) {
  const FabricSpec& spec = scenario.spec.cluster.fabric;
  if (nodes_.of == 0) nodes_.of = scenario.spec.cluster.nodes;
  if (nodes_.of <= 1 || scenario.nics_per_node <= 0) return;
  fabric_ = fabric_levels(spec, nodes_.of, scenario.nics_per_node, scenario.nic_bandwidth, scenario.network_switch);
  slots_ = place_nodes(spec, fabric_, scenario.spec.cluster.nodes, nodes_.first, nodes_.step);
  listed_ = !spec.node_order.empty();
  hashed_ = spec.routing == FabricRouting::ecmp;
  seed_ = static_cast<std::uint64_t>(scenario.spec.run.seed);
  if (levels() == 0) return;
  if (fabric_.rails_apart) {
    // Sites are joined by what all rails share.
    levels_of_rails_ = levels() - (spec.wan ? 1 : 0);
    if (!spec.pxn && spec.preset == FabricPreset::rail_optimized) levels_between_rails_ = levels_of_rails_;
    nics_of_rank_ = static_cast<double>(scenario.nics_per_node) / std::max(1, layout.devices_per_node);
    const int per_rank = std::max(1, scenario.nics_per_node / std::max(1, layout.devices_per_node));
    rails_ = std::min(1.0, static_cast<double>(layout.side_by_side) * per_rank / scenario.nics_per_node);
  }
  // Up-links hold nothing up only where they carry what nodes of any kind send.
  BytesPerSecond node;
  for (const NodeKind& kind : node_kinds(scenario))
    node = std::max(node, kind.scenario->nic_bandwidth * kind.scenario->nics_per_node);
  constexpr double kRounding = 1e-9;
  for (std::size_t level = 0; level < levels(); ++level) {
    const FabricLevel& l = fabric_.levels[level];
    limits_[level] = hashed_ || l.up < node * (l.nodes * (1 - kRounding));
  }
}

bool NodeMap::any_limits() const { return std::find(limits_.begin(), limits_.end(), true) != limits_.end(); }

bool NodeMap::leaves(std::size_t level, int sender, int receiver) const {
  const int from = layout_.node_of(sender), to = layout_.node_of(receiver);
  if (member(level, from) != member(level, to)) return true;
  if (level >= levels_between_rails_ || from == to) return false;
  const auto rail = [&](int rank) {
    return static_cast<int>((rank % layout_.devices_per_node) * std::min(1.0, nics_of_rank_));
  };
  return rail(sender) != rail(receiver);
}

int NodeMap::rails_of(std::size_t level, int rank) const {
  if (!rails_apart(level) || layout_.in_node(Axis::pipeline) <= 1) return 0;
  return rank % layout_.devices_per_node / layout_.side_by_side;
}

int NodeMap::stage_nodes(std::size_t level, int of, int stage) const {
  int count = 0;
  layout_.each_node_of_stage(stage, [&](int node, int) { count += member(level, node) == of; });
  return count;
}

/// Traffic of `nodes` nodes as the up-links feel it: some rails' links stay idle, and hashed flows share links.
double NodeMap::occupied(std::size_t level, double nodes) const {
  if (nodes <= 0) return 0;
  const double load = nodes / usable(level);
  const FabricLevel& l = fabric_.levels[level];
  if (!hashed_ || l.links < 2) return load;
  const int flows = std::max(1, static_cast<int>(std::lround(kChannelsOfNic * nodes * layout_.side_by_side)));
  const int links = std::max(1, static_cast<int>(l.links * usable(level)));
  const int members = (nodes_.of + l.nodes - 1) / l.nodes;
  const int drawn = std::clamp(static_cast<int>(kMostDraws / flows), 1, members);
  const double most = busiest_link(drawn, std::min(flows, static_cast<int>(kMostDraws)), links, seed_ + level);
  return load * most * links / flows;
}

/// Of the messages between nodes of one member those that change rails, with the receivers spread evenly over rails.
double NodeMap::share_between_rails(std::size_t level, int ranks_per_node) const {
  if (level >= levels_between_rails_) return 0;
  return 1 - 1 / std::max(1.0, ranks_per_node * std::min(1.0, nics_of_rank_));
}

NodeMap::Load NodeMap::group_load(std::size_t level, int of, int stage, std::span<const int> group_nodes,
                                  int ranks_per_node) const {
  const auto k = static_cast<int>(group_nodes.size());
  if (k < 2) return {};
  std::vector<int> members;
  members.reserve(group_nodes.size());
  for (const int node : group_nodes) members.push_back(member(level, node));
  const auto inside = static_cast<int>(std::count(members.begin(), members.end(), of));
  const double stage_nodes_here = stage_nodes(level, of, stage);
  const double between_rails = share_between_rails(level, ranks_per_node);
  if (inside == 0 || (inside == k && between_rails == 0)) return {};
  const double peers_outside = k - inside + between_rails * (inside - 1);
  return {occupied(level, stage_nodes_here * edges_out(members, of) / inside),
          occupied(level, stage_nodes_here * double_tree_uplinks(members) / inside),
          occupied(level, stage_nodes_here * peers_outside / (k - 1))};
}

double NodeMap::message_load(std::size_t level, int of, int from, int to) const {
  int crossing = 0;
  each_sender(*this, layout_, level, from, to, [&](int node, int) { crossing += member(level, node) == of; });
  return occupied(level, crossing);
}

std::vector<NodeMap::MessageLoad> NodeMap::message_loads(std::size_t level, int from, int to) const {
  std::map<std::pair<int, int>, int> nodes;
  std::map<int, int> leaving;
  each_sender(*this, layout_, level, from, to, [&](int node, int partner) {
    const int sender = member(level, node);
    ++nodes[{sender, member(level, layout_.node_of(partner))}];
    ++leaving[sender];
  });
  std::vector<MessageLoad> out;
  out.reserve(nodes.size());
  for (const auto& [members, count] : nodes) {
    const double all = leaving[members.first];
    out.push_back({members.first, members.second, occupied(level, all) * (count / all)});
  }
  return out;
}

void NodeMap::load_group(GroupShape& shape, std::span<const int> ranks) const {
  const std::vector<int> nodes = nodes_of(layout_, ranks);
  if (nodes.size() < 2) return;
  const int stage = layout_.coordinate(ranks.front(), Axis::pipeline);
  const int ranks_per_node = static_cast<int>(ranks.size() / nodes.size());
  for (std::size_t level = 0; level < levels(); ++level) {
    LevelLoad& out = shape.above[level];
    out = {};
    std::vector<int> seen;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int here = member(level, nodes[i]);
      if (here != member(level, nodes[(i + 1) % nodes.size()])) ++out.crossings;
      if (limits_[level] && std::find(seen.begin(), seen.end(), here) == seen.end()) seen.push_back(here);
    }
    if (out.crossings == 0 && share_between_rails(level, ranks_per_node) == 0) continue;
    // Layouts are regular: what differs is the first member, where a group begins, and the last, where it ends.
    if (seen.size() > 3 && !listed_) seen = {seen[0], seen[1], seen.back()};
    for (const int here : seen) {
      const Load load = group_load(level, here, stage, nodes, ranks_per_node);
      out.ring = std::max(out.ring, static_cast<float>(load.ring));
      out.tree = std::max(out.tree, static_cast<float>(load.tree));
      out.direct = std::max(out.direct, static_cast<float>(load.direct));
    }
  }
}

void NodeMap::load_message(GroupShape& shape, int from, int to) const {
  const int sender = layout_.node_of(layout_.first_rank(from));
  const int receiver = layout_.node_of(layout_.first_rank(to));
  for (std::size_t level = 0; level < levels(); ++level) {
    LevelLoad& out = shape.above[level];
    out = {};
    out.crossings = member(level, sender) != member(level, receiver) ? 1 : 0;
    if (!limits_[level]) continue;
    out.ring = out.tree = out.direct = static_cast<float>(message_load(level, member(level, sender), from, to));
  }
}

void NodeMap::load_pairs(GroupShape& shape, int a, int b) const {
  load_message(shape, a, b);
  for (std::size_t level = 0; level < levels(); ++level) {
    if (!limits_[level]) continue;
    std::map<int, int> senders;  // by member: nodes of both stages that send out of it
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      each_sender(*this, layout_, level, from, to, [&](int node, int) { ++senders[member(level, node)]; });
    LevelLoad& out = shape.above[level];
    for (const auto& [of, count] : senders)
      out.ring = out.tree = out.direct = std::max(out.ring, static_cast<float>(occupied(level, count)));
  }
}

void set_uplinks(Interconnect& interconnect, const NodeMap& map) {
  interconnect.uplinks.clear();
  const double share = interconnect.wire_share;
  interconnect.message_rate = map.fabric().message * share;
  for (const FabricLevel& level : map.fabric().levels) interconnect.uplinks.push_back({level.up * share, level.hop});
}

}  // namespace stepcast
