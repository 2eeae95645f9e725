#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/importers/imported.hpp"
#include "calibration/importers/slurm_topology.hpp"
#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// What the user adds to a Slurm topology, which tells no rates.
struct SlurmFabricHints {
  std::string root;                    ///< switch whose hosts are taken; empty: the one with the most hosts
  std::vector<std::string> job_hosts;  ///< hosts of a job in the order of its ranks; empty: all, in the file's order
  int nics_per_node = 1;               ///< of the cables of a custom fabric
  BytesPerSecond nic_bandwidth;        ///< the same; zero: not known
  double oversubscription = 1;         ///< of leaves and all switches above them
};

/// The fabric of a topology as a scenario takes it (`cluster.fabric`): a preset where the tree is regular (equal
/// leaves, equal pods, at most three tiers), else listed switches and cables. Node i of the fabric is host i of the
/// job's hosts, or of the file's in the order of its tree, so that neighbouring ranks share leaves; the notes say which
/// is which.
Imported slurm_fabric(const SlurmTopology& topology, const SlurmFabricHints& hints, const std::string& file);

}  // namespace stepcast
