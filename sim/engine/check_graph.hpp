#pragma once

#include "sim/step_graph.hpp"

namespace stepcast {

/// Largest flow: beyond it a double no longer counts single bytes.
inline constexpr Bytes kMostFlowBytes{9007199254740992.0};

/// Range of a path's weight within which SimGrid's shares of a link add up exactly.
inline constexpr double kLeastWeight = 0x1p-10, kMostWeight = 0x1p20;

/// Refuses what SimGrid would abort on or silently misread. Throws std::invalid_argument that names the first link,
/// path or operation that is wrong, and std::logic_error when the graph is not finished.
void check_graph(const StepGraph& graph);

}  // namespace stepcast
