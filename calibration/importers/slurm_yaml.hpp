#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// Whether a text is a topology.yaml, which Slurm 25.05 reads beside or instead of topology.conf.
bool is_slurm_yaml(std::string_view text);

/// The default topology of a topology.yaml in the words of topology.conf, line for line. Its others are noted. Faults,
/// with the line: keys that topology.yaml does not have, and flat topologies, which show no network. Source:
/// topology.yaml(5) of Slurm 25.05.
std::string conf_of_slurm_yaml(std::string_view text, std::vector<std::string>& notes, Diagnostics& diagnostics);

}  // namespace stepcast
