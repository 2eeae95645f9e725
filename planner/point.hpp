#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include "planner/option.hpp"
#include "planner/question.hpp"

namespace stepcast {

inline constexpr std::size_t kObjectives = EnumNames<Objective>::names.size();

/// What each objective counts, for one sample, so that options of different batch compare; smaller is better. Where the
/// question states work or phases, it is the run's, with all that it loses, over the samples that its work stands for.
using ObjectiveValues = std::array<double, kObjectives>;
/// Of an objective that is not known.
inline constexpr double kUnknownObjective = std::numeric_limits<double>::infinity();

/// What the closed form says of an option.
struct PlanFigures {
  Seconds step_time;
  Bytes memory, capacity;  ///< of the device that has least left
  Watts average_power, peak_power;
  std::optional<DollarsPerSecond> cost_rate;
  ObjectiveValues objective{};
  double work = 0;  ///< samples that the run's work stands for; 0: none is stated
  /// The limit that it breaks by no more than the closed form may be off; none: it keeps every limit.
  std::optional<Refusal> refused;
  bool near_limit = false;  ///< the closed form cannot tell whether the simulation will keep every limit
};

/// An option that keeps every limit, or may when it is simulated.
struct PlanPoint {
  std::size_t family = 0;
  Option option;
  PlanFigures figures;
  std::size_t order = 0;  ///< in the order of the search: what breaks ties
};

/// Whether a is at least as good as b in every objective asked for and better in one.
bool dominates(const ObjectiveValues& a, const ObjectiveValues& b, const std::vector<Objective>& asked);

}  // namespace stepcast
