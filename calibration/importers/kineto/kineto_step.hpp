#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "calibration/importers/kineto/kineto_trace.hpp"

namespace stepcast {

/// One step of a trace: when it was, and what ran in it.
struct TracedStep {
  std::string name;  ///< "ProfilerStep#5"; "whole trace" when no step is marked
  double start = 0, end = 0;
  std::vector<int> device;  ///< events of the device that the step launched, by start
  std::vector<int> host;    ///< runtime calls of the step, by start
  [[nodiscard]] double length() const { return end - start; }
  /// N of "ProfilerStep#N"; nothing where no whole number follows.
  [[nodiscard]] std::optional<int> number() const;
};

/// The steps that a trace marks and that launched something; without marks one that is the whole trace.
std::vector<TracedStep> steps_of(const KinetoTrace& trace);
/// The step of median length: the first ones warm up, the last ones may be cut off. `number`: of ProfilerStep#number.
/// Throws InputError when there is no such step, or none that ran anything on a device.
TracedStep typical_step(const KinetoTrace& trace, std::optional<int> number = std::nullopt);

/// How many device events belong to no step, because they were launched before the profiler began.
std::size_t events_of_earlier_steps(const KinetoTrace& trace);

/// The call that launched a device event, by index; −1 when the trace does not say.
std::vector<int> launches_of(const KinetoTrace& trace);

/// What a step's time went to on the device.
enum class StepCategory : std::uint8_t { gemm, attention, memory, communication, host, waiting };
inline constexpr std::size_t kStepCategories = 6;
/// "GEMM", "attention", "memory-bound", "exposed communication", "host gaps", "waiting"
const char* name_of_category(StepCategory category);

/// Seconds by category; they add up to the step. Where kernels run at once, computation counts before communication;
/// a gap counts as the host's until the next kernel has been issued, and as waiting afterwards. Of collectives whose
/// size is told, what they take beyond the quickest of their like in the trace is waiting for other ranks.
std::array<double, kStepCategories> categories_of(const KinetoTrace& trace, const TracedStep& step);

}  // namespace stepcast
