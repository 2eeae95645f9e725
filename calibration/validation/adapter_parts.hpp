#pragma once

#include <string>
#include <string_view>

#include "calibration/validation/measured_run.hpp"

namespace stepcast {

// What adapters of training runs share.

/// A run that no scenario can say, with the reason.
MeasuredRun refused(std::string reason);

Json scenario_of(const Json& cluster, const Json& workload, const Json& strategy);

/// Runs of one model, batch, machine and number of GPUs differ in their mapping only.
std::string group_of(const std::string& model, const std::string& accelerator, const Json& cluster,
                     const Json& workload);

void name_run(MeasuredRun& run, std::string_view framework, std::string accelerator, long gpus, std::string precision);

}  // namespace stepcast
