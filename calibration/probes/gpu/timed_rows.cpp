#include "calibration/probes/gpu/timed_rows.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast::probes {

Samples timed(const DeviceProbe& probe, const std::function<void()>& enqueue) {
  const double sample_us = 1000 * probe.sample_ms, most_calls = 50 * probe.sample_ms;
  EventTimer timer(probe.device);
  const auto run = [&](int calls) {
    timer.begin(probe.device.stream());
    for (int i = 0; i < calls; ++i) enqueue();
    timer.end(probe.device.stream());
    return timer.elapsed_us() / calls;
  };
  run(2);
  Samples out;
  out.calls = static_cast<int>(std::ceil(std::min(sample_us / std::max(run(1), 0.1), std::max(most_calls, 1.0))));
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
