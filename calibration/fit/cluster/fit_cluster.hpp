#pragma once

#include <string>
#include <vector>

#include "calibration/fit/cluster/fit_collectives.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// What `stepcast calibrate fit` is asked.
struct ClusterFitRequest {
  std::string name;                    ///< of the calibration, for remarks
  std::string node;                    ///< catalogue id, or a scenario file
  std::vector<std::string> overrides;  ///< keys of the fabric, as of `stepcast collective`
  std::string library;                 ///< of processes in host memory; empty: as the results' MPI version says
  bool stand_in = false;               ///< results of a stand-in for the hardware are allowed
  int refits = 40;                     ///< of the bootstrap
};

/// Fits everything that the results measured: collectives, products, memory, launches, storage, power. Throws
/// InputError when the results cannot be used: none of a kind that is fitted, a stand-in's, ranks that the node does
/// not have, another chip than the node's, files of several machines.
CalibrationProfile fit_cluster(const std::vector<ProbeResults>& files, const ClusterFitRequest& request,
                               const Catalog& catalog);

/// The outcome in words, for the command line.
std::string fit_summary(const CalibrationProfile& profile);

}  // namespace stepcast
