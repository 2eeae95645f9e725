#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/power/power.hpp"
#include "planner/question.hpp"

namespace stepcast {

/// Options that differ in their strategy alone: one cluster of one size and clock, one framework.
struct FamilySpec {
  std::size_t cluster = 0;  ///< index into the question's clusters
  int nodes = 1;
  FabricSpec fabric;
  std::string storage;
  std::optional<Watts> power_cap;
  std::optional<double> clock_MHz;
  std::string framework;
  int surroundings = 0;  ///< which of its cluster's pairs of fabric and storage
};

/// Every size of a cluster, or only the smallest and the largest (whose faults stand for all).
enum class Sizes { all, ends };

/// All combinations of sizes, fabrics, storage, caps, clocks and frameworks of one cluster of the question, in its
/// order.
std::vector<FamilySpec> families_of_cluster(const PlanQuestionSpec& question, std::size_t cluster,
                                            const Catalog& catalog, Sizes sizes);
/// Those of all its clusters.
std::vector<FamilySpec> families_of(const PlanQuestionSpec& question, const Catalog& catalog);

/// The part of a scenario that a family's options share; of its strategy the framework and what is not searched.
ScenarioSpec scenario_of(const PlanQuestionSpec& question, const FamilySpec& family);

/// Grams of CO2 a kWh, as the site's region or country states it; null without a site that does.
std::optional<double> grid_carbon(const Scenario& scenario);

/// What a family's options cost and draw beside what their strategy decides.
struct FamilyFacts {
  PowerModel power;
  Watts fabric;                          ///< of switches and transceivers at the meter, as far as it is known
  std::optional<DollarsPerSecond> rate;  ///< of the cluster, without electricity that is paid apart
  DollarsPerJoule electricity;           ///< zero when rent includes it
  std::optional<Dollars> price;          ///< to buy servers and switches on its terms, as far as prices are known
  std::optional<double> carbon;          ///< grams a kWh
  int rack_units = 0;                    ///< of the servers
};
/// `scenario`: of a family, its strategy not yet chosen.
FamilyFacts facts_of(const Scenario& scenario, const PlanQuestionSpec& question, const Catalog& catalog);

}  // namespace stepcast
