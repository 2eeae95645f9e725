#pragma once

#include <optional>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Why a scenario's step is no single timeline of operations: its workers meet otherwise than by collectives, or wait
/// for actors. Null where it is one.
std::optional<Fault> timeline_fault(const Scenario& scenario);

}  // namespace stepcast
