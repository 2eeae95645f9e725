#pragma once

#include <string>
#include <vector>

#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// Gives every rank of a graph a program: those without one do what a rank that has one does. Which one: as
/// `stands_for` says (by program, may be empty), else the nearest below, else the first. Groups are repeated over the
/// new ranks by shifting them: the lowest rank that is in none yet leads a group of the same steps. Messages go as
/// far as those of the repeated rank. Returns a note of what was assumed, empty when nothing was. Throws InputError,
/// with `file`, when a group cannot be repeated.
std::string mirror_ranks(RankGraph& graph, const std::vector<std::vector<int>>& stands_for, const std::string& file);

}  // namespace stepcast
