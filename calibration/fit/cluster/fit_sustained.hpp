#pragma once

#include <string>
#include <vector>

#include "calibration/fit/cluster/product_rows.hpp"
#include "calibration/profile/calibration_profile.hpp"

namespace stepcast {

/// Of matrix products that ran until the device had settled at its power limit: the share of the peak that each format
/// sustains, by which training steps price long phases. Adds constants and figures to the calibration; moves `profile`
/// and returns the keys moved. Rows that were bursts do not count.
std::vector<std::string> fit_sustained_rows(CalibrationProfile& calibration, const std::vector<ProductRow>& rows,
                                            const Accelerator& part, ComputeProfile& profile);

}  // namespace stepcast
