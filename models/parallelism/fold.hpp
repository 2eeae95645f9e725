#pragma once

#include <compare>
#include <vector>

#include "models/parallelism/layout.hpp"

namespace stepcast {

/// What a node is and how well it works. Speeds are shares of a healthy node of its kind.
struct NodeState {
  int kind = 0;  ///< 0: the cluster's own; otherwise one more than the index into Scenario::other_kinds
  double compute = 1, network = 1, native = 1;
  int failed_nics = 0;
  auto operator<=>(const NodeState&) const = default;
};

/// States of nodes whose ranks wait for each other in every layer, each once and in order. Of one kind only those that
/// no other falls short of in everything.
using MeetingNodes = std::vector<NodeState>;

/// Model replicas whose stages lie on nodes in the same states, as do those with which they share a copy of sharded
/// parameters, so that they behave alike.
struct ReplicaClass {
  std::vector<int> state;  ///< by pipeline stage: index into Fold::states
  int sharing = 0;         ///< equal for the classes of those that share copies
  int first = 0;           ///< data coordinate of one of them
  int replicas = 1;
};

/// Which replicas of a model need a simulation of their own. Without conditions one class stands for all.
///
/// A replica's ranks of one stage meet in every layer (tensor, context and expert groups), so each figure is that of
/// the node among theirs that has least of it (Job::in_state). Replicas that share experts meet in every layer too.
struct Fold {
  std::vector<MeetingNodes> states{{NodeState{}}};  ///< the first: as the scenario says
  std::vector<ReplicaClass> classes;                ///< the largest first
  std::vector<int> class_by_replica;                ///< empty: all are of the first
  [[nodiscard]] int class_of(int replica) const {
    return class_by_replica.empty() ? 0 : class_by_replica[static_cast<std::size_t>(replica)];
  }
};
Fold fold_of(const Scenario& scenario, const RankLayout& layout);

/// By Fold::states, the nodes whose ranks replicas of that state join when they are made equal, each once and in order:
/// those of every state with which it shares a stage, and of all with which these do, so that whoever joins a
/// communicator knows the same nodes. `ends_meet`: the first and the last stage are joined, too (tied embeddings).
std::vector<MeetingNodes> joined_by_replicas(const Fold& fold, bool ends_meet);

/// Of nodes that meet, the one whose devices compute slowest: all others wait for it.
const NodeState& slowest_of(const Scenario& scenario, const MeetingNodes& nodes);

/// The scenario on a kind of node (NodeState::kind).
const Scenario& on_kind(const Scenario& scenario, int kind);

}  // namespace stepcast
