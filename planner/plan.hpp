#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planner/search.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// A limit, or a part of the step, and how much of it an answer takes.
struct Binding {
  std::string what;  ///< "memory", "deadline", or what most of the step goes to: "compute", "tensor communication" …
  double share = 0;  ///< of the limit, or of the step time
  std::string words;
};

/// An option that keeps every limit, with its forecast.
struct PlanCandidate {
  Json scenario;          ///< complete: `stepcast run` takes it
  Prediction prediction;  ///< simulated, or the closed form where that was asked for
  Seconds closed_form;    ///< step time in closed form, which the search went by
  ObjectiveValues objective{};
  std::optional<Dollars> price;           ///< to buy, where a budget asked for it
  std::optional<double> carbon_of_run_t;  ///< tonnes of CO2 of the whole training, with a site that states its grid
  std::vector<std::string> network;       ///< what of it was taken for what, in words (FabricBill::assumed)
  std::vector<Binding> binding;           ///< what most of the step goes to, then limits nearly reached
  OptionKind kind{};
  std::size_t family = 0;
  bool tie = false;            ///< its 80 % interval overlaps the best one's
  bool of_other_kind = false;  ///< listed because it is the best of a kind that the best one is not of
};

/// Options that no measured run of this framework on this accelerator stands behind, and what would decide.
struct ToMeasure {
  std::string framework, accelerator;
  EvidenceGrade grade = EvidenceGrade::none;
  std::string why;
  std::string command;  ///< what to run
};

/// A point of the Pareto front, in closed form.
struct ParetoPoint {
  Json scenario;
  PlanFigures figures;
};

/// What is said to a question.
struct PlanAnswer {
  std::string name;
  std::vector<Objective> objectives;
  Tally tally;
  std::vector<PlanCandidate> candidates;  ///< best first, by the forecast; the last may be of another kind
  std::vector<ParetoPoint> pareto;        ///< with several objectives
  std::vector<ToMeasure> to_measure;
  std::set<std::string> stated_of_fabrics;  ///< keys that the question's fabrics differ in (machine_words)
  std::vector<Fault> faults;  ///< what is wrong with stated values, where no option is legal (faults_of_stated_values)
  bool stopped = false;       ///< the caller asked to stop: the best so far
};

struct PlanOptions {
  std::size_t top = 5;
  int jobs = 1;                                            ///< threads of the search, and simulations at a time
  Fidelity fidelity = Fidelity::simulated;                 ///< analytic: candidates are ranked as the search found them
  std::vector<std::filesystem::path> catalog_directories;  ///< that the worker reads before the shipped ones
  ProgressCallback progress;                               ///< called from the calling thread
  std::stop_token stop;
};

/// Answers a question: searches in closed form, forecasts the best by simulation, ranks by that. Throws InputError, and
/// EnvironmentError where the worker is missing. No option that keeps the limits is an answer without candidates.
PlanAnswer plan(const PlanQuestion& question, const Catalog& catalog, const PlanOptions& options);

/// The answer as JSON (docs/formats/plan-question.md names every key).
Json plan_json(const PlanAnswer& answer);
/// What an option's machines differ in beside kind and number, of a scenario that the search wrote: fabric where it is
/// not the standard one, storage, site, cooling, power cap, clock and every stated term of their price.
/// "fabric rail-only", "capped at 400 W", "rented at $10/h". Resolving states NICs of every fabric, from its node:
/// `stated` has those of them that the question chooses among (PlanAnswer::stated_of_fabrics).
std::vector<std::string> machine_words(const Json& scenario, const std::set<std::string>& stated);
/// For people.
std::string plan_text(const PlanAnswer& answer);

}  // namespace stepcast
