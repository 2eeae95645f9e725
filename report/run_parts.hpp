#pragma once

#include <vector>

#include "models/phases/run_phases.hpp"

namespace stepcast {

/// The phases of a run in two: start-up and compilation happen at the beginning, the restart time holds them
/// afterwards; the rest is what interruptions stretch.
struct RunParts {
  explicit RunParts(const std::vector<PhaseCost>& phases) {
    for (const PhaseCost& phase : phases) {
      const bool starts = phase.kind == PhaseKind::startup || phase.kind == PhaseKind::compile;
      PhaseCost& sum = starts ? once : work;
      sum.time += phase.time;
      sum.device_time += phase.device_time;
      sum.energy += phase.energy;
    }
  }
  [[nodiscard]] Seconds time(double goodput) const { return once.time + work.time / goodput; }
  [[nodiscard]] Seconds device_time(double goodput) const { return once.device_time + work.device_time / goodput; }

  PhaseCost once, work;
};

}  // namespace stepcast
