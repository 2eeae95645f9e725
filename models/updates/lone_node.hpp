#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Whether a scenario's workers meet otherwise than by collectives in every step.
bool exchanges_apart(const Scenario& scenario);

/// One of the scenario's nodes by itself, with its share of the batch and collectives among its own devices: what a
/// worker does between exchanges.
Scenario lone_node(const Scenario& scenario);

}  // namespace stepcast
