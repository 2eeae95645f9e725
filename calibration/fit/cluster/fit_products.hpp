#pragma once

#include <vector>

#include "calibration/profile/calibration_profile.hpp"
#include "calibration/results/probe_results.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// Fits rows of matrix products, sustained ones left out, into the operator profile of the accelerator's family: the
/// share of the peak by format, of the memory's rate, and the launch. Adds constants, figures, outliers and, from six
/// rows on, the error on every other row; names products that no such device reaches. Intervals by so many refits.
void fit_products(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const Accelerator& part,
                  const Catalog& catalog, int refits);

}  // namespace stepcast
