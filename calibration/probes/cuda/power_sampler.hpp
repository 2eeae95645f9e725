#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calibration/probes/common/result_file.hpp"
#include "calibration/probes/cuda/nvml.hpp"

namespace stepcast::probes {

/// Clocks and power of devices while something is measured, sampled by a thread.
class PowerSampler {
 public:
  /// Devices are NVML's numbers. Without NVML (null) nothing is sampled.
  PowerSampler(const Nvml* nvml, std::vector<int> devices, double interval_ms);
  ~PowerSampler();
  PowerSampler(const PowerSampler&) = delete;
  PowerSampler& operator=(const PowerSampler&) = delete;

  /// What runs from now on: idle, gemm, memory, collective …
  void enter(const std::string& state);
  /// Mean clocks, and mean power of all devices together, since a moment on `now_us`'s clock, put into a row.
  void describe(Json& row, double since_us) const;
  /// Stops, and adds a power row for each device and state.
  void finish(ResultFile& file);

 private:
  struct Sample {
    double at_us;
    DeviceState state;
  };
  struct Series {
    int device;
    std::string state;
    std::vector<Sample> samples;
    double energy_begin_J = 0, energy_J = 0;
    bool has_energy = false;
  };
  void sample_all();
  void stop();
  [[nodiscard]] static Json row_of(const Series& series, const Nvml& nvml);

  const Nvml* nvml_;
  std::vector<int> devices_;
  double interval_ms_;
  std::vector<Series> series_;  ///< the last `devices_.size()` are the ones being filled
  mutable std::mutex mutex_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace stepcast::probes
