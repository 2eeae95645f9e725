#pragma once

#include <vector>

#include "models/rank_graph/rank_index.hpp"

namespace stepcast {

/// Fills an index and says what is wrong with its graph.
class RankGraphCheck {
 public:
  RankGraphCheck(RankIndex& index, const RankGraphPlaces& places)
      : index_(index), graph_(index.graph_), places_(places) {}

  /// Throws InputError with all faults of the first pass that finds any: ranks and groups, operations, dependencies,
  /// meetings. At most so many of a pass: a graph may be wrong a million times in one way.
  void run();

 private:
  static constexpr std::size_t kMostFaults = 50;

  void end_pass();
  void fault(Fault place, std::string message, std::string suggestion = {});
  void fault(int program, int operation, std::string message, std::string suggestion = {});

  void check_ranks();
  void check_groups();
  void check_list(std::size_t group, std::size_t list);
  void check_operation(int program, int operation);
  void check_peer(int program, int operation);
  void check_keys(int program, int operation);
  void check_membership(int program, int operation);
  void order_programs();
  void find_meetings();
  void compare_meetings(int group, int list);
  void compare_programs(int group, int list, int first_rank, int rank);
  void match_messages();

  RankIndex& index_;
  const RankGraph& graph_;
  const RankGraphPlaces& places_;
  std::vector<Fault> faults_;
};

}  // namespace stepcast
