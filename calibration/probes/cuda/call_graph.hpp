#pragma once

#include <functional>
#include <optional>

#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

/// Calls that were captured into a CUDA graph: the device runs them one after the other without waiting for the host,
/// which takes longer to issue a short kernel than the device takes to run it.
class CallGraph {
 public:
  /// Captures so many times what `enqueue` puts on the device's stream. Absent where the driver cannot (before CUDA
  /// 11.4), or what is enqueued cannot be captured.
  static std::optional<CallGraph> capture(const CudaDevice& device, int calls, const std::function<void()>& enqueue);
  ~CallGraph();
  CallGraph(CallGraph&& other) noexcept;
  CallGraph(const CallGraph&) = delete;
  CallGraph& operator=(const CallGraph&) = delete;
  /// Puts the calls on the device's stream.
  void run() const;

 private:
  CallGraph(const CudaDevice& device, void* runnable) : device_(&device), runnable_(runnable) {}
  const CudaDevice* device_;
  void* runnable_;
};

}  // namespace stepcast::probes
