#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "models/parallelism/job.hpp"
#include "sim/step/columns.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// Finds the operations of different devices that are one collective, and joins them: none begins before all can, and
/// whatever waits for one waits for all.
///
/// Devices of a group emit their collectives of a kind in the same order, so the n-th of each belong together.
class Joins {
 public:
  Joins(const Job& job, const std::vector<Column>& columns, FlowDetail flows);

  /// Notes an operation of a device as its next collective of a kind.
  void add(const Member& member, GroupKind kind, int operation);
  /// Hands every collective of several devices to the graph.
  void join(StepGraph& graph) const;

 private:
  [[nodiscard]] int group_of(const Member& member, GroupKind kind);

  const Job& job_;
  const std::vector<Column>& columns_;
  FlowDetail flows_;
  bool alone_;                                                              ///< one column: nobody to join
  std::map<std::pair<int, GroupKind>, int> groups_;                         ///< full: by rank; lowest rank of the group
  std::map<std::pair<int, GroupKind>, int> emitted_;                        ///< by device
  std::map<std::tuple<GroupKind, int, int>, std::vector<int>> operations_;  ///< by kind, group and place in the order
};

}  // namespace stepcast
