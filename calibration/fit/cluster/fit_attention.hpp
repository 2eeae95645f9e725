#pragma once

#include <string>
#include <vector>

#include "calibration/profile/calibration_profile.hpp"
#include "calibration/results/probe_results.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// Fits to rows of fused attention in 16 bit what training steps price it by: the share of the peak by the vendor's
/// kernels (`native`), backward over forward, the sequence length at half of the rate, heads of 64. What rows cannot
/// tell, as backward of forward ones, stays. Adds constants, figures and, from six rows on, the error on every other
/// row to the calibration; moves `profile`, whose kernel floor is already this machine's, and returns the keys moved.
/// Intervals by so many refits.
std::vector<std::string> fit_attention_rows(CalibrationProfile& calibration, const std::vector<ProbeResults>& files,
                                            const Accelerator& part, ComputeProfile& profile, int refits);

}  // namespace stepcast
