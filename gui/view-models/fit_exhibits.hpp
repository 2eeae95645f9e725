#pragma once

#include "gui/view-models/exhibit.hpp"

namespace stepcast {

struct CalibrationProfile;

/// Constants that a fit moved: from the catalogue's value to the fitted one, with its interval.
Exhibit constants_exhibit(const CalibrationProfile& profile);
/// How well rows were predicted that the fit had not seen.
Exhibit held_out_exhibit(const CalibrationProfile& profile);
/// Every measured collective beside the fitted model's time.
Exhibit measured_exhibit(const CalibrationProfile& profile);
/// What the fitted model is off by, over the size of the message; and of figures of devices and disks.
Exhibit residuals_exhibit(const CalibrationProfile& profile);
/// What is wrong with the cluster, what was left out and what the fit could not know, a line each.
QString words_of(const CalibrationProfile& profile);

}  // namespace stepcast
