#pragma once

#include "planner/family.hpp"
#include "planner/plan.hpp"

namespace stepcast {

/// What holds a forecast back: where most of its time goes, and the limits that it nearly reaches.
std::vector<Binding> bindings_of(const Prediction& prediction, const PlanConstraints& limits, const FamilyFacts& facts,
                                 std::optional<double> goodput);

}  // namespace stepcast
