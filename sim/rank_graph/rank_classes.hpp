#pragma once

#include <vector>

#include "models/rank_graph/rank_index.hpp"

namespace stepcast {

/// Ranks that behave alike, found by refining: ranks of one class run the same program, share their nodes with the same
/// classes, meet the same classes in each of their groups, and exchange messages with the same classes. One of each
/// stands for all.
class RankClasses {
 public:
  RankClasses(const RankIndex& index, int devices_per_node);

  [[nodiscard]] int count() const { return static_cast<int>(representatives_.size()); }
  [[nodiscard]] int class_of(int rank) const { return class_of_[rank]; }
  /// Its lowest rank.
  [[nodiscard]] int representative(int of) const { return representatives_[of]; }
  [[nodiscard]] int size(int of) const { return sizes_[of]; }
  /// Ranks of the class on each of its nodes.
  [[nodiscard]] int per_node(int of) const { return per_node_[of]; }
  /// Equal for two lists of a group whose members are of the same classes.
  [[nodiscard]] int kind_of_list(int group, int list) const { return list_kinds_[group][list]; }

 private:
  void find_list_kinds(const RankIndex& index);
  bool refine(const RankIndex& index, int devices_per_node);

  struct End {
    int peer;
    std::int32_t own, other;
  };
  std::vector<std::vector<End>> ends_;  ///< by rank: its messages
  std::vector<int> class_of_, representatives_, sizes_, per_node_;
  std::vector<std::vector<int>> list_kinds_;
};

}  // namespace stepcast
