#pragma once

#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"

namespace stepcast {

/// The closed form of a step: microseconds a configuration, the same cost functions as the simulation. What it leaves
/// out (contention between kinds of traffic, exact schedule effects) is stated in docs/models/estimate.md.
StepBreakdown estimate(const Job& job);

/// How far the simulated step may be from the closed form, as a share of it (docs/models/estimate.md, and
/// tests/sim/estimate_agreement_test.cpp, which holds the two together).
double closed_form_deviation(const Scenario& scenario);

}  // namespace stepcast
