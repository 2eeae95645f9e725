#include "sim/collective/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "models/collectives/double_tree.hpp"

namespace stepcast {

namespace {

/// Collects the lanes of a phase, column by column and sender by sender.
class LaneBuilder {
 public:
  LaneBuilder(ProgramPhase& phase, const CollectivePhase& plan, const GroupLayout& group, MachinePaths& paths)
      : phase_(phase), plan_(plan), group_(group), paths_(paths), lanes_(group.size()) {}

  void native(int sender, int receiver, double bytes) {
    if (bytes <= 0) return;
    const int path = paths_.native(group_.devices[sender], group_.devices[receiver]);
    add(sender, receiver, path, bytes, bytes / plan_.native_cap, 0);
  }
  /// Between a rank and what joins the devices of its node.
  void native_half(int rank, bool out, double bytes) {
    if (bytes <= 0) return;
    const int device = group_.devices[rank];
    add(rank, rank, out ? paths_.native_out(device) : paths_.native_in(device), bytes, bytes / plan_.native_cap, 0);
  }
  void network(int sender, int receiver, double bytes) {
    if (bytes <= 0) return;
    const int strands = paths_.strands() * (plan_.pattern == MessagePattern::direct ? 1 : paths_.channels());
    const double part = bytes / strands;
    for (int strand = 0; strand < strands; ++strand)
      add(sender, receiver, paths_.network(group_.devices[sender], group_.devices[receiver], strand), part,
          part / plan_.network_cap * paths_.network_occupancy(), 1);
  }
  void end_column() {
    for (auto& lanes : lanes_) {
      phase_.first_lane.push_back(static_cast<int>(phase_.lanes.size()));
      for (const auto& [lane, crosses] : lanes) {
        phase_.lanes.push_back(lane);
        if (phase_.kind == ProgramKind::windowed) phase_.crosses.push_back(crosses);
      }
      lanes.clear();
    }
    ++columns_;
  }
  void finish() {
    phase_.first_lane.push_back(static_cast<int>(phase_.lanes.size()));
    phase_.columns = columns_;
  }

 private:
  void add(int sender, int receiver, int path, double payload, double bytes, char crosses) {
    lanes_[sender].push_back({{path, sender, receiver, bytes, payload}, crosses});
  }

  ProgramPhase& phase_;
  const CollectivePhase& plan_;
  const GroupLayout& group_;
  MachinePaths& paths_;
  std::vector<std::vector<std::pair<Lane, char>>> lanes_;
  int columns_ = 0;
};

int next_place(const GroupLayout& group, int rank) {
  const auto& there = group.members[group.node[rank]];
  return there[(group.place[rank] + 1) % there.size()];
}

int previous_place(const GroupLayout& group, int rank) {
  const auto& there = group.members[group.node[rank]];
  return there[(group.place[rank] + there.size() - 1) % there.size()];
}

bool alone_on_node(const GroupLayout& group, int rank) { return group.members[group.node[rank]].size() == 1; }

/// A link of a torus between two nodes, by the members of the group at its ends.
struct TorusLink {
  int sender, receiver;
};

/// Those of a group's nodes; none where the network is no torus, or where one of them leads out of the group.
std::vector<TorusLink> torus_links(const GroupLayout& group, const MachinePaths& paths) {
  std::vector<TorusLink> out;
  std::unordered_map<int, int> rank_of;
  for (int rank = 0; rank < group.size(); ++rank) rank_of.emplace(group.devices[rank], rank);
  for (int rank = 0; rank < group.size(); ++rank)
    for (const int device : paths.neighbours(group.devices[rank])) {
      const auto there = rank_of.find(device);
      if (there == rank_of.end()) return {};
      if (group.node[rank] != group.node[there->second]) out.push_back({rank, there->second});
    }
  return out;
}

/// What a ring's nodes send each other. On a torus the rings lie along all axes and both ways round at once, as XLA's
/// do, so that every link out of a node carries the same.
void add_ring_between_nodes(LaneBuilder& lanes, const GroupLayout& group, const MachinePaths& paths, double bytes,
                            bool closed) {
  if (const std::vector<TorusLink> links = torus_links(group, paths); !links.empty()) {
    const double each = bytes * group.size() / static_cast<double>(links.size());
    for (const TorusLink& link : links) lanes.network(link.sender, link.receiver, each);
    return;
  }
  for (int rank = 0; rank < group.size(); ++rank) {
    const int node = group.node[rank];
    const bool last = node == group.nodes() - 1;
    if (group.nodes() > 1 && (closed || !last))
      lanes.network(rank, group.peer((node + 1) % group.nodes(), group.place[rank]), bytes);
  }
}

/// Every rank to the next one of its node, and to its peer on the next node.
void add_ring(LaneBuilder& lanes, const CollectivePhase& plan, const GroupLayout& group, const MachinePaths& paths,
              double parts, bool closed) {
  for (int rank = 0; rank < group.size(); ++rank)
    if (!alone_on_node(group, rank)) lanes.native(rank, next_place(group, rank), plan.native_bytes.value() / parts);
  add_ring_between_nodes(lanes, group, paths, plan.network_bytes.value() / parts, closed);
  lanes.end_column();
}

/// Every rank to the next one of the group, once.
void add_next(LaneBuilder& lanes, const CollectivePhase& plan, const GroupLayout& group) {
  for (int rank = 0; rank < group.size(); ++rank) {
    const int next = (rank + 1) % group.size();
    if (group.node[rank] == group.node[next])
      lanes.native(rank, next, plan.native_bytes.value());
    else
      lanes.network(rank, next, plan.network_bytes.value());
  }
  lanes.end_column();
}

struct TreeEdge {
  int child, parent;
};

std::vector<TreeEdge> tree_edges(int nodes) {
  std::vector<TreeEdge> edges;
  for (int half = 0; half < 2; ++half)
    for (int node = 0; node < nodes; ++node)
      if (const int parent = tree_parent(half, node, nodes); parent >= 0) edges.push_back({node, parent});
  return edges;
}

/// Both halves of the double tree at once, up and down: each edge carries the same, and the node with the most edges
/// carries what the plan says of a rank.
void add_tree(LaneBuilder& lanes, const CollectivePhase& plan, const GroupLayout& group) {
  for (int rank = 0; rank < group.size(); ++rank) {
    if (alone_on_node(group, rank)) continue;
    // Channels begin their chains at different members, so that every rank sends as much up as down.
    lanes.native(rank, next_place(group, rank), plan.native_bytes.value() / 2);
    lanes.native(rank, previous_place(group, rank), plan.native_bytes.value() / 2);
  }
  const std::vector<TreeEdge> edges = tree_edges(group.nodes());
  std::vector<int> degree(group.nodes(), 0);
  for (const TreeEdge& edge : edges) ++degree[edge.child], ++degree[edge.parent];
  const double bytes = plan.network_bytes.value() / std::max(1, *std::max_element(degree.begin(), degree.end()));
  for (const TreeEdge& edge : edges)
    for (const int rank : group.members[edge.child]) {
      const int peer = group.peer(edge.parent, group.place[rank]);
      lanes.network(rank, peer, bytes);
      lanes.network(peer, rank, bytes);
    }
  lanes.end_column();
}

/// To what joins the devices, and back from it; between nodes each rank to its peer on the next one.
void add_in_switch(LaneBuilder& lanes, const CollectivePhase& plan, const GroupLayout& group) {
  for (int rank = 0; rank < group.size(); ++rank) {
    lanes.native_half(rank, true, plan.native_bytes.value());
    lanes.native_half(rank, false, plan.native_bytes.value());
    if (group.nodes() > 1)
      lanes.network(rank, group.peer((group.node[rank] + 1) % group.nodes(), group.place[rank]),
                    plan.network_bytes.value());
  }
  lanes.end_column();
}

/// How far ahead peers are, one after another, in NCCL's schedule of them (2.19 on, init.cc: p2pSchedule): triangular
/// numbers modulo a power of two, of which those below `count` are kept. Near and far peers take turns, so that what is
/// under way at one time spreads over the levels, axes and directions of a network.
std::vector<int> peer_order(int count) {
  const unsigned modulo = std::bit_ceil(static_cast<unsigned>(count));
  std::vector<int> out;
  unsigned ahead = 0;
  for (unsigned round = 1; round <= modulo; ++round) {
    if (ahead < static_cast<unsigned>(count)) out.push_back(static_cast<int>(ahead));
    ahead = (ahead + round) % modulo;
  }
  return out;
}

/// What a rank receives over the busiest one, which is the first: what it gets beyond the mean the others lack.
double share_of_busiest(int rank, int ranks, double imbalance) {
  return rank == 0 ? 1 : (ranks - imbalance) / ((ranks - 1) * imbalance);
}

/// Every rank to every other, node after node and in each from its own place on, so that in each round every rank
/// receives from one.
void add_direct(LaneBuilder& lanes, const CollectivePhase& plan, const GroupLayout& group) {
  const int ranks = group.size(), nodes = group.nodes();
  const std::vector<int> node_order = peer_order(nodes);
  std::map<std::size_t, std::vector<int>> place_order;  // by ranks of a node
  for (const auto& there : group.members)
    if (const auto [entry, fresh] = place_order.try_emplace(there.size()); fresh)
      entry->second = peer_order(static_cast<int>(there.size()));
  for (int rank = 0; rank < ranks; ++rank) {
    const int node = group.node[rank], place = group.place[rank];
    const auto here = static_cast<int>(group.members[node].size());
    for (const int node_ahead : node_order) {
      const auto& there = group.members[(node + node_ahead) % nodes];
      for (const int ahead : place_order.at(there.size())) {
        const int peer = there[(place + ahead) % there.size()];
        const double share = share_of_busiest(peer, ranks, plan.imbalance);
        if (node_ahead > 0)
          lanes.network(rank, peer, share * plan.network_bytes.value() / (ranks - here));
        else if (ahead > 0)
          lanes.native(rank, peer, share * plan.native_bytes.value() / (here - 1));
      }
    }
  }
  lanes.end_column();
}

/// Whom member `index` of `members` sends to over the distance 2^s: its pair where they come in powers of two, else
/// the one so far ahead (Bruck et al. 1997), so that all send and receive alike.
int partner(int index, int s, int members) {
  const int distance = 1 << s;
  const bool paired = std::has_single_bit(static_cast<unsigned>(members));
  return paired ? index ^ distance : (index + distance) % members;
}

int doublings(int members) { return std::bit_width(static_cast<unsigned>(members - 1)); }

/// One column for each distance: as in a ring, channels are rotated, so that in every step a rank has both a partner on
/// its node and one on another, and sends to each the same share of its bytes.
void add_exchanges(LaneBuilder& lanes, ProgramPhase& phase, const CollectivePhase& plan, const GroupLayout& group) {
  const bool halves = plan.pattern == MessagePattern::halving_doubling;
  const int nodes = group.nodes();
  const int columns = std::max(1, halves ? plan.steps / 2 : plan.steps);
  for (int s = 0; s < columns; ++s) {
    // Halves of halves, there and back, add up to all but one part in 2^columns.
    const double share = halves ? std::ldexp(0.5, -s - 1) / (1 - std::ldexp(1.0, -columns)) : 1.0 / columns;
    for (int rank = 0; rank < group.size(); ++rank) {
      const int node = group.node[rank], place = group.place[rank];
      const auto here = static_cast<int>(group.members[node].size());
      if (here > 1)
        lanes.native(rank, group.members[node][partner(place, s % doublings(here), here)],
                     plan.native_bytes.value() * share);
      if (nodes > 1)
        lanes.network(rank, group.peer(partner(node, s % doublings(nodes), nodes), place),
                      plan.network_bytes.value() * share);
    }
    lanes.end_column();
    phase.column_of_step.push_back(s);
  }
  if (halves)
    for (int s = columns - 1; s >= 0; --s) phase.column_of_step.push_back(s);
  phase.steps = static_cast<int>(phase.column_of_step.size());
}

ProgramKind kind_of(MessagePattern pattern) {
  switch (pattern) {
    case MessagePattern::ring:
    case MessagePattern::next:
    case MessagePattern::halving_doubling:
    case MessagePattern::doubling:
      return ProgramKind::stepwise;
    case MessagePattern::tree:
    case MessagePattern::chain:
    case MessagePattern::in_switch:
      return ProgramKind::streamed;
    case MessagePattern::direct:
      return ProgramKind::windowed;
  }
  throw std::logic_error("a message pattern of no kind");
}

/// Which ranks of a streamed phase wait for each other.
std::vector<int> instances(PhaseScope scope, const GroupLayout& group) {
  switch (scope) {
    case PhaseScope::whole:
      return {};
    case PhaseScope::in_node:
      return group.node;
    case PhaseScope::across_nodes:
      return group.place;
  }
  return {};
}

}  // namespace

ProgramPhase messages_of(const CollectivePhase& plan, const GroupLayout& group, MachinePaths& paths) {
  ProgramPhase phase;
  phase.kind = kind_of(plan.pattern);
  phase.steps = plan.steps;
  LaneBuilder lanes(phase, plan, group, paths);
  switch (plan.pattern) {
    case MessagePattern::ring:
      add_ring(lanes, plan, group, paths, std::max(1, plan.steps), true);
      break;
    case MessagePattern::next:
      add_next(lanes, plan, group);
      break;
    case MessagePattern::halving_doubling:
    case MessagePattern::doubling:
      add_exchanges(lanes, phase, plan, group);
      break;
    case MessagePattern::tree:
      add_tree(lanes, plan, group);
      break;
    case MessagePattern::chain:
      add_ring(lanes, plan, group, paths, 1, false);
      break;
    case MessagePattern::in_switch:
      add_in_switch(lanes, plan, group);
      break;
    case MessagePattern::direct:
      add_direct(lanes, plan, group);
      phase.window = paths.peers_in_flight() > 0 ? paths.peers_in_flight() : group.size();
      break;
  }
  lanes.finish();
  phase.latency = plan.latency.value();
  if (phase.kind == ProgramKind::stepwise) phase.latency /= std::max(1, phase.steps);
  if (phase.kind == ProgramKind::streamed) phase.instance = instances(plan.scope, group);
  return phase;
}

}  // namespace stepcast
