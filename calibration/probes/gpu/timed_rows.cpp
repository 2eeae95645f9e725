#include "calibration/probes/gpu/timed_rows.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "calibration/probes/cuda/call_graph.hpp"

namespace stepcast::probes {

namespace {

/// Calls in one graph; longer samples launch it several times.
constexpr int kMostInGraph = 50;

int calls_per_sample(const DeviceProbe& probe, double call_us) {
  const double calls = std::min(1000 * probe.sample_ms / std::max(call_us, 0.1), 50 * probe.sample_ms);
  return static_cast<int>(std::ceil(std::max(calls, 1.0)));
}

}  // namespace

Samples timed(const DeviceProbe& probe, const std::function<void()>& enqueue, Issue issue) {
  const CudaHandle stream = probe.device.stream();
  EventTimer timer(probe.device);
  const auto run = [&](int times, const auto& work) {
    timer.begin(stream);
    for (int i = 0; i < times; ++i) work();
    timer.end(stream);
    return timer.elapsed_us();
  };
  run(2, enqueue);
  Samples out;
  out.calls = calls_per_sample(probe, run(1, enqueue));
  const int in_graph = std::min(out.calls, kMostInGraph);
  const std::optional<CallGraph> graph =
      issue == Issue::captured ? CallGraph::capture(probe.device, in_graph, enqueue) : std::nullopt;
  if (!graph) {
    for (int i = 0; i < probe.samples; ++i) out.us.push_back(run(out.calls, enqueue) / out.calls);
    return out;
  }
  const int launches = (out.calls + in_graph - 1) / in_graph;
  out.calls = launches * in_graph;
  out.captured = true;
  for (int i = 0; i < probe.samples; ++i) {
    graph->run();  // the timer begins while the device is busy, so the host's launch is not in it
    out.us.push_back(run(launches, [&] { graph->run(); }) / out.calls);
  }
  return out;
}

void add_row(const DeviceProbe& probe, Json row, const Samples& samples, double since_us) {
  row["samples_us"] = samples_json(samples.us);
  if (samples.calls > 1) row["calls_per_sample"] = samples.calls;
  if (samples.captured) row["note"] = "issued as a CUDA graph";
  probe.power.describe(row, since_us);
  probe.file.add(std::move(row));
}

std::string name_of(const CudaDevice& device) { return "gpu" + std::to_string(device.number()); }

}  // namespace stepcast::probes
