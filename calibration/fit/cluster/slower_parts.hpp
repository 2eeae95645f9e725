#pragma once

#include <vector>

#include "calibration/profile/calibration_profile.hpp"
#include "calibration/results/probe_results.hpp"

namespace stepcast {

/// Findings of what takes far longer than others in rows that measured the same: a device among those of its host and
/// of other files', or, where all devices of a file do, that file. Rows of one kind count apart from others, so that a
/// device whose memory alone is slow is found beside its sound products.
void add_slower_parts(CalibrationProfile& profile, const std::vector<ProbeResults>& files);

}  // namespace stepcast
