#pragma once

#include <map>
#include <vector>

#include "planner/search.hpp"

namespace stepcast {

/// Adds a point to a front and drops what it dominates, unless one there dominates it. Of equals the earlier in the
/// order of the search stands for both.
void add_to_front(std::vector<PlanPoint>& front, const PlanPoint& point, const std::vector<Objective>& objectives);

/// The best points so far: what later options are measured against.
class Incumbents {
 public:
  Incumbents(std::vector<Objective> objectives, std::size_t keep);

  /// A point near a limit is kept apart: others are not measured against what may turn out to break it.
  void add(const PlanPoint& point, const OptionKind& kind);
  void add(const Incumbents& others);

  /// Whether an option can change nothing here, given the least that each of its objectives can be.
  [[nodiscard]] bool beyond_reach(const ObjectiveValues& least, const OptionKind& kind) const;

  [[nodiscard]] const std::vector<PlanPoint>& best() const { return best_; }
  /// Those near a limit that would be among the best if they keep it, best first.
  [[nodiscard]] std::vector<PlanPoint> near_limits() const;
  [[nodiscard]] std::vector<PlanPoint> best_of_kinds() const;
  [[nodiscard]] std::vector<PlanPoint> front() const;

 private:
  [[nodiscard]] double rank(const PlanPoint& point) const { return point.figures.objective[first_]; }
  [[nodiscard]] bool before(const PlanPoint& a, const PlanPoint& b) const;
  void insert(std::vector<PlanPoint>& sorted, std::size_t most, const PlanPoint& point) const;
  void merge(std::vector<PlanPoint>& sorted, std::size_t most, const std::vector<PlanPoint>& others) const;

  std::vector<Objective> objectives_;
  std::size_t first_;
  std::size_t keep_;
  std::vector<PlanPoint> best_;  ///< sorted, at most keep_
  /// Near a limit: the closed form says that it is broken, or kept; each sorted, at most kMostNearLimits.
  std::vector<PlanPoint> beyond_, within_;
  std::map<OptionKind, PlanPoint> kinds_;
  std::vector<PlanPoint> front_;
};

}  // namespace stepcast
