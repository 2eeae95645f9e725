#pragma once

#include <cstdint>
#include <vector>

#include "sim/step_graph.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

/// What a device's compute stream does, or waits for.
enum class Activity : std::uint8_t { work, communication, bubble, synchronization };

struct Interval {
  Seconds start, end;
  Activity activity = Activity::work;
  int operation = -1;  ///< that runs (work) or is waited for (communication), else −1
};

/// True for collectives, messages, gathers and storage traffic.
bool communicates(const Operation& operation);

/// Operations of every device: of its compute stream in order of time, and of all its streams.
struct DeviceOperations {
  std::vector<int> compute, all;
  Seconds pipeline_end;  ///< of the last operation of all stages of the device's pipeline
};
std::vector<DeviceOperations> operations_by_device(const StepGraph& graph, const Timeline& timeline);

/// The compute stream of a device from the start of the step to its end, without holes or overlaps.
///
/// A gap is laid to what the operation that ends it waited for longest, walking back from there: while the message or
/// collective itself ran (latency included) it is communication; before a message began, its sender still computed
/// (bubble); before a collective began, another member was late (synchronisation). Where another stage of the device's
/// pipeline keeps it waiting, and waits for other replicas itself, that is synchronisation, too. What follows a
/// device's last operation is a bubble until its pipeline's stages have ended, then a wait for slower replicas.
std::vector<Interval> device_intervals(const StepGraph& graph, const Timeline& timeline, int device,
                                       const DeviceOperations& operations);

}  // namespace stepcast
