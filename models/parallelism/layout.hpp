#pragma once

#include <array>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Dimensions that tile the devices; expert parallelism lies inside context × data.
enum class Axis : std::size_t { tensor, context, data, pipeline };

/// The groups that communicate; `data` is the gradient group (context ranks included).
enum class GroupKind { tensor, context, expert, data, expert_data, pipeline, shard, replicate };

/// Where every rank lies: rank = Σ coordinate · stride, and nodes are filled rank by rank.
struct RankLayout {
  static constexpr std::size_t kAxes = 4;
  std::array<int, kAxes> degrees{1, 1, 1, 1};  ///< ranks along each Axis
  std::array<int, kAxes> strides{1, 1, 1, 1};  ///< ranks between neighbours along each Axis
  std::array<int, kAxes> inside{1, 1, 1, 1};   ///< coordinates of the axis within one node
  int experts = 1;                             ///< ranks of an expert group
  bool experts_over_tensor = false;            ///< expert groups lie over tensor ranks, too: each holds whole experts
  int expert_stride = 1;                       ///< ranks between neighbours of an expert group
  bool expert_before_data = true;              ///< an expert group is of neighbouring replicas, else of distant ones
  int shard = 1;                               ///< data ranks that share one copy of sharded parameters
  int devices_per_node = 1;
  int side_by_side = 1;  ///< devices of one pipeline rank on one node: what communicates at the same time

  [[nodiscard]] int degree(Axis axis) const { return degrees[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] int stride(Axis axis) const { return strides[static_cast<std::size_t>(axis)]; }
  /// Ranks of the axis that lie on one node.
  [[nodiscard]] int in_node(Axis axis) const { return inside[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] int coordinate(int rank, Axis axis) const { return rank / stride(axis) % degree(axis); }
  [[nodiscard]] int node_of(int rank) const { return rank / devices_per_node; }
  [[nodiscard]] int devices() const { return degrees[0] * degrees[1] * degrees[2] * degrees[3]; }
  [[nodiscard]] int nodes() const { return (devices() + devices_per_node - 1) / devices_per_node; }
  /// First rank of each node that holds ranks of a stage, in order: `visit(node, rank)`.
  template <class Visit>
  void each_node_of_stage(int stage, Visit visit) const {
    const int step = stride(Axis::pipeline);
    int latest = -1;
    for (int first = stage * step; first < devices(); first += step * degree(Axis::pipeline))
      for (int rank = first; rank < first + step; rank = (node_of(rank) + 1) * devices_per_node) {
        if (node_of(rank) == latest) continue;
        latest = node_of(rank);
        visit(latest, rank);
      }
  }
  /// Ranks of the group that a rank belongs to, in the order of its ring.
  [[nodiscard]] std::vector<int> group(GroupKind kind, int rank) const;
  /// First rank of a stage.
  [[nodiscard]] int first_rank(int stage) const { return stage * stride(Axis::pipeline); }
};

/// The layout that the degrees, the order of dimensions and the devices of a node make.
RankLayout rank_layout(const Scenario& scenario);

}  // namespace stepcast
