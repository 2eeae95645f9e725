#pragma once

#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/evaluator.hpp"
#include "planner/point.hpp"

namespace stepcast {

/// How far a plan is, for people who wait.
struct PlanProgress {
  enum class Stage { searching, simulating };
  Stage stage = Stage::searching;
  long evaluated = 0;             ///< options so far
  std::size_t done = 0, all = 0;  ///< blocks searched, or candidates simulated
  /// While searching: objectives of the best options and of the front so far, in closed form.
  std::vector<ObjectiveValues> found = {};
};
using ProgressCallback = std::function<void(const PlanProgress&)>;

struct SearchOptions {
  int threads = 1;
  std::size_t keep = 16;  ///< best options to return
  bool prune = true;      ///< false: every option that fits is costed in full
  /// How the options found will be forecast: simulated, the closed form's limits have its deviation to both sides.
  Fidelity forecast = Fidelity::analytic;
  ProgressCallback progress;
  std::stop_token stop;
};

/// What a search found. Kept points are in order of the first objective.
struct SearchResult {
  std::vector<FamilySpec> families;
  std::vector<PlanPoint> best;           ///< that keep every limit, whatever the simulation may say
  std::vector<PlanPoint> near_limits;    ///< that would be among them if the simulation says that they keep every limit
  std::vector<PlanPoint> best_of_kinds;  ///< the best of each kind of option (option_kind)
  std::vector<PlanPoint> front;          ///< not dominated in the objectives asked for; empty with one
  Tally tally;
  std::set<std::size_t> allowed_families;  ///< with an option that rules and memory allow
  bool stopped = false;                    ///< ended early at the caller's wish
};

/// Searches the legal space of a question in closed form. The result is the same whatever the number of threads, and
/// the points are those that an exhaustive search would keep (docs/models/planner.md). Throws InputError.
SearchResult search(const PlanQuestion& question, const Catalog& catalog, const SearchOptions& options);

/// Options of one kind differ in numbers only: the same server, fabric and storage, framework and parallel dimensions.
using OptionKind = std::array<int, 5>;
/// The part of it that is bought: server, fabric and storage.
std::array<int, 2> machines_of(const OptionKind& kind);
OptionKind option_kind(const std::vector<FamilySpec>& families, std::size_t family, const Option& option);

}  // namespace stepcast
