#include "calibration/probes/cuda/call_graph.hpp"

#include <utility>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {

std::optional<CallGraph> CallGraph::capture(const CudaDevice& device, int calls, const std::function<void()>& enqueue) {
  const CudaFunctions& f = device.driver().call();
  const bool known = f.capture_begin && f.capture_end && f.graph_make && f.graph_launch;
  constexpr int kThisThread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
  if (!known || f.capture_begin(device.stream(), kThisThread) != 0) return std::nullopt;
  bool captured = true;
  try {
    for (int i = 0; i < calls; ++i) enqueue();
  } catch (const Fault&) {
    captured = false;  // a library that synchronises or allocates; the same call has run before without capture
  }
  void *graph = nullptr, *runnable = nullptr;
  captured = f.capture_end(device.stream(), &graph) == 0 && graph && captured;
  captured = captured && f.graph_make(&runnable, graph, 0) == 0;
  if (graph) f.graph_end(graph);
  if (!captured) return std::nullopt;
  return CallGraph(device, runnable);
}

CallGraph::CallGraph(CallGraph&& other) noexcept
    : device_(other.device_), runnable_(std::exchange(other.runnable_, nullptr)) {}

CallGraph::~CallGraph() {
  if (runnable_) device_->driver().call().runnable_end(runnable_);
}

void CallGraph::run() const {
  device_->driver().require(device_->driver().call().graph_launch(runnable_, device_->stream()), "launching a graph");
}

}  // namespace stepcast::probes
