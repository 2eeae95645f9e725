#pragma once

#include <vector>

#include "planner/family.hpp"

namespace stepcast {

/// What is wrong with a question's stated values where no option of it is legal, in the words that a scenario with such
/// values gets: the faults that every option has, else the one that most have.
std::vector<Fault> faults_of_stated_values(const PlanQuestion& question, const std::vector<FamilySpec>& families,
                                           const Catalog& catalog);

}  // namespace stepcast
