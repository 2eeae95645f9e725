#pragma once

#include "calibration/fit/cluster/fit_collectives.hpp"

namespace stepcast {

/// What is wrong with a cluster, as far as its collectives tell, in words: a rate far below the hardware's, numbers of
/// nodes far slower than others (place_findings.hpp), small messages as slow as if the quick protocol were off, a
/// forced algorithm that beats the library's choice.
void add_collective_findings(CalibrationProfile& profile, const ClusterFit& fit, const std::vector<ClusterRow>& rows);

/// What single rows and the environment tell: one slow host or link among pairs, directions that differ, a device whose
/// copies are slower than the others', protocols and paths that variables switch off.
void add_file_findings(CalibrationProfile& profile, const std::vector<ProbeResults>& files);

}  // namespace stepcast
