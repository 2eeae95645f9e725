#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Which kernels of a transformer are one: as the strategy says, else what torch.compile makes, else as the framework
/// has them.
struct FusedKernels {
  bool loss, activation, norm;
  double rotary_passes;  ///< FrameworkProfile::rotary_passes; 0: one kernel
  double memory_passes;  ///< FrameworkProfile::memory_efficiency, compiled or not
};
FusedKernels fused_kernels(const Scenario& scenario);

}  // namespace stepcast
