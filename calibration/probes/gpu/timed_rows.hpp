#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/probes/gpu/device_probes.hpp"

namespace stepcast::probes {

struct Samples {
  std::vector<double> us;
  int calls = 1;          ///< a sample is the mean of so many, back to back
  bool captured = false;  ///< in a CUDA graph
};

/// How the calls of a sample reach the device: each by the host, or captured once and launched together.
enum class Issue { each, captured };

/// Times work on the device's stream by events; a sample is the mean of as many calls as take `sample_ms`, but of 50
/// for each millisecond at most. What cannot be captured is issued call by call.
Samples timed(const DeviceProbe& probe, const std::function<void()>& enqueue, Issue issue);

/// Adds a row with its samples, and clocks and power since a moment on `now_us`'s clock.
void add_row(const DeviceProbe& probe, Json row, const Samples& samples, double since_us);

/// As "gpu0".
std::string name_of(const CudaDevice& device);

}  // namespace stepcast::probes
