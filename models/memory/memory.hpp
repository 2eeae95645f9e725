#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Peak memory of one device, by what it holds.
struct MemoryFootprint {
  Bytes parameters, gradients, optimizer, activations;  ///< optimizer: its states and master copies
  Bytes buffers;    ///< gradient buckets and places, gathered or cast parameters, received activations
  Bytes workspace;  ///< gradients of activations, recomputed layers and logits in use; workspaces of matrix products
  Bytes libraries;  ///< device context and communicators, outside the framework's allocator
  Bytes slack;      ///< what the allocator has and cannot use
  Bytes host;       ///< offloaded to host memory, beside all of these
  /// What the framework's allocator has handed out at the peak ("max memory allocated").
  [[nodiscard]] Bytes allocated() const {
    return parameters + gradients + optimizer + activations + buffers + workspace;
  }
  /// What it holds of the device for that.
  [[nodiscard]] Bytes reserved() const { return allocated() + slack; }
  [[nodiscard]] Bytes total() const { return reserved() + libraries; }
  /// The fullest moment is one at which the step's gradients do not exist yet: states that are on the device have
  /// gradients, but for steps that drop them (an optimizer on the host takes both).
  [[nodiscard]] bool before_gradients() const { return gradients == Bytes(0) && optimizer > Bytes(0); }
};

struct MemoryReport {
  std::vector<MemoryFootprint> stages;  ///< by pipeline rank
  int worst_stage = 0;                  ///< index into `stages` of the fullest one
  Bytes capacity;                       ///< what software sees on the device
  Bytes host_capacity;                  ///< a device's share of its node's memory
  bool fits = true;                     ///< on the device, and what is offloaded in the node's memory
  std::string phase;                    ///< of the run that needs it (PhaseScenario); empty: the scenario's own steps
  std::vector<std::string> advice;      ///< of memory_advice, when it does not fit; memory_of leaves it empty
  /// What a device of any stage offloads at most.
  [[nodiscard]] Bytes host() const;
  /// What the fullest stage needs beyond the device, and what is offloaded beyond the host; zero where it fits.
  [[nodiscard]] Bytes over_device() const;
  [[nodiscard]] Bytes over_host() const { return std::max(Bytes(0), host() - host_capacity); }
};

/// Bytes of one parameter's training state on a device, before sharding.
struct StateBytes {
  double parameter = 0, gradient = 0, optimizer = 0;
  double matrix_optimizer = 0;  ///< in place of `optimizer`, of what Muon updates (OwnedParameters::in_matrices)
};
/// Mixed precision keeps 16-bit parameters beside fp32 master copies and moments (Rajbhandari et al. 2020,
/// section 3.1); FSDP and automatic mixed precision keep the fp32 copy alone and cast what products read.
StateBytes state_bytes(const Scenario& scenario);

/// What the outer optimizer of rounds of local steps keeps of a parameter, in bytes; zero without one.
double outer_state_bytes(const Scenario& scenario);

/// Memory that a device loses to its libraries before anything is allocated: context and communicators. Profilers of
/// the framework's allocator do not see it.
Bytes library_memory(const Job& job);

/// Peak memory by stage: activations count as often as the pipeline schedule has them in flight.
/// Sources: Korthikanti et al. 2022 (activations), Rajbhandari et al. 2020 (ZeRO states); docs/models/memory.md.
/// A footprint larger than the device is a result, not an error. Microseconds; the report's advice is apart.
MemoryReport memory_of(const Job& job);

}  // namespace stepcast
