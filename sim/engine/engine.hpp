#pragma once

#include <functional>

#include "sim/step_graph.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

struct EngineOptions {
  bool record_link_rates = false;
  /// Start every flow in SimGrid instead of running flows that are alone on all their links on the work clock. The
  /// reference: slower, the same answer.
  bool all_flows_in_simgrid = false;
};

/// Told now and then how many operations have ended, of how many; and once when all have.
using StepProgress = std::function<void(std::size_t done, std::size_t all)>;

/// Rate that a device's computing keeps, however much of it communication takes: kernels that wait for compute units
/// are scheduled in turn, so none stops for good. A guard, not a measurement; catalogued slow-downs stay far above it.
inline constexpr double kSlowestComputeRate = 0.05;

/// Executes a step graph on SimGrid.
///
/// An operation begins when all that it waits for has ended: its work runs on its device's clock (operations of
/// different streams side by side), then its flows, all at once. Compute and optimizer work goes at 1 less the
/// slowdowns of all operations of the device whose flows run, or those of another device that is one collective with
/// it; latencies and host work keep their pace. Flows share links max-min fairly by weight, each within its path's cap.
///
/// One call per process: SimGrid's engine cannot be made twice (the worker forks for each job). The graph must outlive
/// the process's use of SimGrid. Deterministic to the bit. Throws std::invalid_argument that names the link, path or
/// operation that SimGrid would abort on, std::runtime_error naming the first operations that never ended, and
/// std::logic_error on a graph that is not finished and on a second call.
Timeline simulate(const StepGraph& graph, const EngineOptions& options = {}, const StepProgress& progress = {});

}  // namespace stepcast
