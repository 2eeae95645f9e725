#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// A switch of Slurm's topology: hosts, or other switches, below it.
struct SlurmSwitch {
  std::string name;
  std::vector<std::string> hosts;
  std::vector<int> children;  ///< indices
  std::vector<int> parents;
};

/// What a topology.conf says: switches (topology/tree) or blocks (topology/block), the latter as leaves below one
/// switch, with one more tier where `BlockSizes` joins several blocks.
struct SlurmTopology {
  std::vector<SlurmSwitch> switches;
  std::vector<std::string> notes;
  /// Switches without one above them, in the order of the file.
  [[nodiscard]] std::vector<int> roots() const;
  /// Hosts below a switch, leaf after leaf, each once.
  [[nodiscard]] std::vector<std::string> hosts_below(int index) const;
};

/// Reads a topology.conf (or a topology.yaml, slurm_yaml.hpp): comments, lines continued with a backslash, names in any
/// case, host lists. Faults, with the line: unknown keys, host lists that are none, switches defined twice or below
/// themselves, children that are not defined, no host at all; switches without hosts are left out with a note. Source:
/// topology.conf(5) of Slurm 24.11.
SlurmTopology read_slurm_topology(std::string_view text, Diagnostics& diagnostics);

}  // namespace stepcast
