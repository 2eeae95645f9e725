#pragma once

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/profile/calibration_profile.hpp"
#include "models/collectives/machine.hpp"

namespace stepcast {

/// Refuses files that are given twice, or hold the same as another: their samples would count twice. Throws InputError.
void refuse_repeated_files(const std::vector<ProbeResults>& files);

/// Findings of collectives that no sound measurement gives: times in which the NICs cannot move the bytes, and times
/// that fall with the size.
void add_unlikely_rows(CalibrationProfile& profile, const std::vector<ClusterRow>& rows,
                       const CollectiveMachine& machine);

/// Findings of files that disagree: devices and files whose times are far above those of equal rows of others
/// (slower_parts.hpp), and networks or labels that differ.
void add_disagreements(CalibrationProfile& profile, const std::vector<ProbeResults>& files);

}  // namespace stepcast
