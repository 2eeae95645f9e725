#pragma once

#include <string_view>

#include "calibration/importers/slurm_definitions.hpp"

namespace stepcast {

/// Whether a text is a topology.yaml, which Slurm 25.05 reads beside or instead of topology.conf.
bool is_slurm_yaml(std::string_view text);

/// Reads the default topology of a topology.yaml; its others are noted. Faults: keys that topology.yaml does not have,
/// and topologies that show neither a tree nor blocks (flat, ring, torus3d). Source: topology.yaml(5) of Slurm 25.05
/// and 26.05.
void read_slurm_yaml(std::string_view text, SlurmDefinitions& definitions);

}  // namespace stepcast
