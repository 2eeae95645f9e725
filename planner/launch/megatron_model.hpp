#pragma once

#include "models/scenario/scenario.hpp"
#include "planner/launch/arguments.hpp"

namespace stepcast {

/// What Megatron-LM's arguments say of a transformer and its sequences.
void add_megatron_model(Arguments& out, const Scenario& scenario);
/// --moe-flex-dispatcher-backend; empty where tokens go to their experts by all_to_all, or nowhere.
std::string flex_dispatcher(const Scenario& scenario);

}  // namespace stepcast
