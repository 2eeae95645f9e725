#pragma once

#include <map>
#include <vector>

#include "planner/search.hpp"

namespace stepcast {

/// The best points so far: what later options are measured against.
class Incumbents {
 public:
  Incumbents(std::vector<Objective> objectives, std::size_t keep);

  void add(const PlanPoint& point, const OptionKind& kind);
  void add(const Incumbents& others);

  /// Whether an option can change nothing here, given the least that each of its objectives can be.
  [[nodiscard]] bool beyond_reach(const ObjectiveValues& least, const OptionKind& kind) const;

  [[nodiscard]] const std::vector<PlanPoint>& best() const { return best_; }
  [[nodiscard]] std::vector<PlanPoint> best_of_kinds() const;
  [[nodiscard]] std::vector<PlanPoint> front() const;

 private:
  [[nodiscard]] double rank(const PlanPoint& point) const { return point.figures.objective[first_]; }
  [[nodiscard]] bool before(const PlanPoint& a, const PlanPoint& b) const;
  void add_to_front(const PlanPoint& point);

  std::vector<Objective> objectives_;
  std::size_t first_;
  std::size_t keep_;
  std::vector<PlanPoint> best_;  ///< sorted, at most keep_
  std::map<OptionKind, PlanPoint> kinds_;
  std::vector<PlanPoint> front_;
};

}  // namespace stepcast
