#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/step_graph.hpp"

namespace stepcast {

/// Links that nodes, and jobs, have in common: up-links of leaves, pods and sites, and shared storage.
///
/// Of the members of a level (of the leaves) only those are simulated that hold a representative of some job; whoever
/// has traffic there sends it over their links. The others are like them.
class SharedLinks {
 public:
  explicit SharedLinks(StepGraph& graph) : graph_(graph) {}

  struct UpDown {
    LinkId up, down;
  };
  /// This member of the level holds a representative of some job.
  void watch(std::size_t level, int member) { watched_[level].insert(member); }
  [[nodiscard]] const std::set<int>& watched(std::size_t level) { return watched_[level]; }
  /// The links out of a member and into it; made when first asked for. `rails`: which of the rails that lie apart.
  UpDown of(std::size_t level, int member, int rails, BytesPerSecond bandwidth);
  /// The link of a shared storage system, by its catalogue id; made when first asked for.
  LinkId storage(const std::string& id, BytesPerSecond bandwidth);

 private:
  StepGraph& graph_;
  std::map<std::size_t, std::set<int>> watched_;
  std::map<std::tuple<std::size_t, int, int>, UpDown> links_;
  std::map<std::string, LinkId> storage_;
};

}  // namespace stepcast
