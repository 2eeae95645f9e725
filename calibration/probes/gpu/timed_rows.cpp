#include "calibration/probes/gpu/timed_rows.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast::probes {

Samples timed(const DeviceProbe& probe, const std::function<void()>& enqueue) {
  constexpr double kSample_us = 1000;
  constexpr int kMostCalls = 50;
  EventTimer timer(probe.device);
  const auto run = [&](int calls) {
    timer.begin(probe.device.stream());
    for (int i = 0; i < calls; ++i) enqueue();
    timer.end(probe.device.stream());
    return timer.elapsed_us() / calls;
  };
  run(2);
  Samples out;
  out.calls = static_cast<int>(std::clamp(std::ceil(kSample_us / std::max(run(1), 0.1)), 1.0, double{kMostCalls}));
  for (int i = 0; i < probe.samples; ++i) out.us.push_back(run(out.calls));
  return out;
}

void add_row(const DeviceProbe& probe, Json row, const Samples& samples, double since_us) {
  row["samples_us"] = samples_json(samples.us);
  if (samples.calls > 1) row["calls_per_sample"] = samples.calls;
  probe.power.describe(row, since_us);
  probe.file.add(std::move(row));
}

std::string name_of(const CudaDevice& device) { return "gpu" + std::to_string(device.number()); }

}  // namespace stepcast::probes
