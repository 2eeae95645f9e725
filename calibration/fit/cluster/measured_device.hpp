#pragma once

#include <vector>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// Refuses results whose driver names another chip of the catalogue than the node's ("NVIDIA H100 80GB HBM3" for a node
/// of A100): they would become its constants. A name that tells no chip apart passes. Throws InputError.
void refuse_other_devices(const std::vector<ProbeResults>& files, const std::string& node,
                          const Accelerator& accelerator, const Catalog& catalog);

}  // namespace stepcast
