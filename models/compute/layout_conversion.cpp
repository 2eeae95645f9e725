#include "models/compute/layout_conversion.hpp"

#include "models/compute/product_time.hpp"
#include "models/scenario/memory_format.hpp"

namespace stepcast {

bool converts_layouts(const Scenario& scenario) {
  if (!has_timed_channels_first(scenario) || scenario.precision == Precision::fp32) return false;
  // GeForce's tensor cores may be no faster than its vectors; what has TF32 has them.
  const Accelerator& part = *scenario.accelerator;
  return part.peak(Precision::tf32).value() > 0 || on_matrix_unit(part, part.product_peak(scenario.precision));
}

}  // namespace stepcast
