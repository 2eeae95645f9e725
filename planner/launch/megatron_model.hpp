#pragma once

#include "models/scenario/scenario.hpp"
#include "planner/launch/arguments.hpp"

namespace stepcast {

/// What Megatron-LM's arguments say of a transformer and its sequences.
void add_megatron_model(Arguments& out, const Scenario& scenario);

}  // namespace stepcast
