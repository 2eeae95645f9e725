#pragma once

#include <string>

#include "calibration/profile/calibration_profile.hpp"

namespace stepcast {

/// A self-contained HTML page of a calibration: what is wrong with the cluster in words, what the fit found and how far
/// to trust it, and for every collective and set of ranks the measured points with their spread, the fitted curve and
/// the residuals. Deterministic.
std::string calibration_html(const CalibrationProfile& profile);

}  // namespace stepcast
