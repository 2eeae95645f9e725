#pragma once

#include <optional>
#include <set>
#include <vector>

#include "gui/view-models/exhibit.hpp"
#include "planner/plan.hpp"

namespace stepcast {

/// What the scatter of a plan has on its axes.
struct PlanAxes {
  QString name;  ///< "Cost and time"
  Objective x{}, y{};
};
/// The pairs to choose from.
const std::vector<PlanAxes>& plan_axes();

/// One option of an answer: an answer proper, or a point of the Pareto front in closed form.
struct PlanOption {
  const PlanAnswer* answer = nullptr;
  const Json* scenario = nullptr;
  const ObjectiveValues* objective = nullptr;
  const PlanCandidate* candidate = nullptr;  ///< null: of the front alone
  const PlanFigures* figures = nullptr;      ///< of the front
};
/// Candidates first, best first; then points of the front that are no candidates. They point into the answer.
std::vector<PlanOption> options_of(const PlanAnswer& answer);

/// Factors from an objective's figure for a sample to what the axes show: for a billion tokens, or a million samples.
struct PlanScale {
  double samples = 1e6;
  QString work;  ///< "a million samples"
  [[nodiscard]] double shown(Objective objective, const ObjectiveValues& values) const;
  /// "hours for a billion tokens"
  [[nodiscard]] QString title(Objective objective) const;
};
/// `workload`: of the question, so that what is found so far counts as the answer does.
PlanScale scale_of(const Json& workload);

/// A scatter of options and its table, and which option stands where in both.
struct PlanScatter {
  Exhibit exhibit;
  std::vector<std::vector<std::size_t>> of_point;  ///< by series and point
  std::vector<std::size_t> of_row;
};
/// `kept`: options that a filter left; those outside of it are grey and not in the table. Null: all.
PlanScatter plan_scatter(const PlanAnswer& answer, const PlanScale& scale, const PlanAxes& axes,
                         const std::optional<std::set<std::size_t>>& kept);
/// What a search has found so far: the scatter alone.
Exhibit found_so_far(const std::vector<ObjectiveValues>& found, const PlanScale& scale, const PlanAxes& axes);

/// Options by what became of them.
Exhibit rejected_exhibit(const PlanAnswer& answer);

}  // namespace stepcast
