#pragma once

#include <vector>

#include "calibration/profile/calibration_profile.hpp"
#include "calibration/results/probe_results.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/collectives/machine.hpp"

namespace stepcast {

/// Fits what rows of products, memory, copies, launches, storage and power tell of a machine's devices into catalogue
/// entries of the profile: operator-profiles and compute-profiles of the accelerator's family, the accelerator's idle
/// power, and a storage entry of the calibration's name. Kinds without rows keep the catalogue's figures.
/// Intervals of products and attention come from so many refits, fewer than kFewestRefits give none.
void fit_devices(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const CollectiveMachine& machine,
                 const Catalog& catalog, int refits);

}  // namespace stepcast
