#pragma once

#include <array>

#include "models/collectives/collective.hpp"
#include "models/parallelism/job.hpp"
#include "units/quantity.hpp"

namespace stepcast {

inline constexpr std::size_t kCollectiveKinds = EnumNames<CollectiveKind>::names.size();
inline constexpr std::size_t kDimensions = EnumNames<Dimension>::names.size();

/// Where a step's time went, means over all devices. Both ways to a prediction fill it: the closed form by formula, the
/// simulation from its timeline. On each device compute + exposed communication + bubble + synchronisation wait +
/// optimizer + overhead = step time.
struct StepBreakdown {
  Seconds step_time;
  Seconds compute;               ///< operators, recomputation included
  Seconds host;                  ///< of `overhead`: the device waited for the host to issue kernels
  Seconds optimizer;             ///< update of the parameters; in closed form the slowest stage's
  Seconds overhead;              ///< fixed per step, and host gaps
  Seconds bubble;                ///< waiting for another pipeline stage's computation
  Seconds synchronization_wait;  ///< waiting for a slower member of a group
  struct Communication {
    Seconds total, exposed;  ///< on the links; of it, the device waits
  };
  /// By CollectiveKind and Dimension.
  std::array<std::array<Communication, kDimensions>, kCollectiveKinds> communication{};
  Flops executed_flops;              ///< per device and step
  Seconds matrix_time, memory_time;  ///< of compute: matrix products and attention; memory-bound operators
  Watts average_device_power,
      peak_device_power;  ///< per device, mean over devices at each instant, then average and maximum over the step
  /// Sums over all kinds and dimensions.
  [[nodiscard]] Seconds communication_total() const;
  [[nodiscard]] Seconds communication_exposed() const;
  /// Of what is exposed, waiting for input from storage.
  [[nodiscard]] Seconds input_exposed() const;
};

/// Adds another breakdown, of `share` of the devices; the step time, which is one for all, is left alone.
void add(StepBreakdown& sum, const StepBreakdown& other, double share);

}  // namespace stepcast
