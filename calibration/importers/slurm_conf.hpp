#pragma once

#include <string_view>

#include "calibration/importers/slurm_definitions.hpp"

namespace stepcast {

/// Reads a topology.conf, or what `scontrol show topology` prints: comments, lines continued with a backslash, keys in
/// any case. Source: topology.conf(5) of Slurm 24.11 to 26.05.
void read_slurm_conf(std::string_view text, SlurmDefinitions& definitions);

}  // namespace stepcast
