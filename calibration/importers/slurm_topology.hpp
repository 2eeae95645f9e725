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

/// Hosts that share a faster network than the switches', as NVLink of a rack.
struct SlurmBlock {
  std::string name;
  std::vector<std::string> hosts;
};

/// What a topology.conf says: switches (topology/tree), or blocks (topology/block) as leaves below one switch, with one
/// more tier where `BlockSizes` joins several blocks. A file of both has its switches, and beside them its blocks.
struct SlurmTopology {
  std::vector<SlurmSwitch> switches;
  std::vector<SlurmBlock> blocks;
  bool is_of_blocks = false;  ///< the leaves are the blocks
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

/// A node of the catalogue that is a rack of several hosts.
struct SlurmRack {
  std::string node;
  int hosts = 1;
};

/// The topology of racks: each block is one host of the block's name. Blocks may lack the two hosts that are usually
/// kept as spare ones; what is of no block is left out with a note. Faults: no blocks, and blocks of other sizes.
SlurmTopology racks_as_hosts(SlurmTopology topology, const SlurmRack& rack, Diagnostics& diagnostics);

/// The racks of a job's hosts, in the order of these. Faults: hosts of no block, and less than a whole rack.
std::vector<std::string> racks_of_job(const SlurmTopology& topology, const std::vector<std::string>& hosts,
                                      const SlurmRack& rack, Diagnostics& diagnostics);

}  // namespace stepcast
