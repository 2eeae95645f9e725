#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/collectives/collective.hpp"
#include "models/fabric/levels.hpp"
#include "models/parallelism/layout.hpp"

namespace stepcast {

/// Which nodes of a fabric a job has: every step-th one from the first on; its placement says in what order. A job
/// alone has them all.
struct JobNodes {
  int first = 0, step = 1;
  int of = 0;  ///< nodes of the fabric; 0: the job's own
};

/// Where a job's nodes lie in the fabric: which leaf, pod and site each is in, and what a group's traffic therefore
/// sends over their up-links.
///
/// A ring over neighbouring nodes leaves a leaf once however many of its nodes take part; a double tree as often as its
/// edges do, from the leaf with the most of them; an exchange of all pairs leaves it in proportion to the peers
/// outside. All keep to their rails, for libraries move data to the NIC of the right rail inside the node (NCCL's PXN);
/// without it what goes to another rail's rank leaves the leaf even for nodes on it.
class NodeMap {
 public:
  NodeMap() = default;
  NodeMap(const Scenario& scenario, const RankLayout& layout, const JobNodes& nodes);

  [[nodiscard]] const FabricLevels& fabric() const { return fabric_; }
  [[nodiscard]] std::size_t levels() const { return fabric_.levels.size(); }
  /// Which member of a level (which leaf) a node of the job is in.
  [[nodiscard]] int member(std::size_t level, int node) const { return slot(node) / fabric_.levels[level].nodes; }
  /// Whether what one rank sends another one leaves the sender's member of a level.
  [[nodiscard]] bool leaves(std::size_t level, int sender, int receiver) const;
  /// Whether a level's up-links can hold traffic up: they carry less than its nodes' NICs, or flows collide on them.
  [[nodiscard]] bool limits(std::size_t level) const { return limits_[level]; }
  /// Whether any level does.
  [[nodiscard]] bool any_limits() const;
  /// Whether NICs of different number have up-links of their own there. What joins sites is for all of them.
  [[nodiscard]] bool rails_apart(std::size_t level) const { return level < levels_of_rails_; }
  /// Of a member's up-links, what the ranks of one stage can use: on some rails only, where these lie apart.
  [[nodiscard]] double usable(std::size_t level) const { return rails_apart(level) ? rails_ : 1; }

  /// Which set of rails a rank sends by, where stages of a node have rails of their own there; else 0.
  [[nodiscard]] int rails_of(std::size_t level, int rank) const;

  /// What a member's nodes send out of it, in the network traffic of one node.
  struct Load {
    double ring = 0, tree = 0, direct = 0;  ///< by the pattern of the traffic
    [[nodiscard]] double of(MessagePattern pattern) const {
      return pattern == MessagePattern::direct ? direct : pattern == MessagePattern::tree ? tree : ring;
    }
  };
  /// Load on one member of a level by all groups of a kind on a stage, from the nodes of one of them in ring order, on
  /// each of which it has so many ranks.
  [[nodiscard]] Load group_load(std::size_t level, int member, int stage, std::span<const int> group_nodes,
                                int ranks_per_node) const;
  /// Messages from one member of a level to another, in the network traffic of one node.
  struct MessageLoad {
    int from = 0, to = 0;
    double load = 0;
  };
  /// Load by messages of all ranks of a stage to their partners on another: out of a member, and the same by where they
  /// go.
  [[nodiscard]] double message_load(std::size_t level, int member, int from, int to) const;
  [[nodiscard]] std::vector<MessageLoad> message_loads(std::size_t level, int from, int to) const;

  /// Fills in `shape.above` with the loads of the worst member of each level.
  void load_group(GroupShape& shape, std::span<const int> ranks) const;
  /// The same of a message from a stage to another.
  void load_message(GroupShape& shape, int from, int to) const;
  /// Of all ranks of two stages that exchange data with their partners at the same time, the most loaded member's.
  void load_pairs(GroupShape& shape, int a, int b) const;

 private:
  [[nodiscard]] int slot(int node) const { return slots_.empty() ? node : slots_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int stage_nodes(std::size_t level, int member, int stage) const;
  [[nodiscard]] double occupied(std::size_t level, double nodes) const;
  [[nodiscard]] double share_between_rails(std::size_t level, int ranks_per_node) const;

  RankLayout layout_;
  FabricLevels fabric_;
  JobNodes nodes_;
  std::vector<int> slots_;  ///< node of the fabric by node of the job; empty: its own number
  bool listed_ = false;     ///< in an order that the scenario lists, which need not be regular
  bool hashed_ = false;
  std::uint64_t seed_ = 1;
  std::size_t levels_between_rails_ = 0;  ///< the innermost ones, which messages to another rail pass without PXN
  double nics_of_rank_ = 1;
  std::size_t levels_of_rails_ = 0;  ///< the innermost ones, in which rails lie apart
  double rails_ = 1;                 ///< share of their up-links that the ranks of one stage can use
  std::array<bool, kFabricLevels> limits_{};
};

/// Nodes that ranks lie on, in their order; neighbours on one node count once.
std::vector<int> nodes_of(const RankLayout& layout, std::span<const int> ranks);

/// Puts the up-links of a map's levels into an interconnect, at the share of their rate that the protocol leaves. What
/// binds one NIC whatever its rate (NetworkProfile::nic_ceiling) is the processor's, and binds no link.
void set_uplinks(Interconnect& interconnect, const NodeMap& map);

}  // namespace stepcast
