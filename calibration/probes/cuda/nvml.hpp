#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/probes/common/library.hpp"

namespace stepcast::probes {

/// What a device tells at one moment; absent where the driver does not know it.
struct DeviceState {
  std::optional<double> power_W, sm_MHz, memory_MHz, temperature_C, utilization_pct;
};

/// NVIDIA's management library, loaded at run time with own prototypes (NVML API reference, version 12).
class Nvml {
 public:
  /// Throws Fault (missing) where the driver's library is absent, lacks a function, or cannot be initialised.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] int devices() const { return static_cast<int>(devices_.size()); }
  /// As the driver calls the product.
  [[nodiscard]] std::string name(int device) const;
  [[nodiscard]] std::string driver_version() const;
  /// Of the library itself.
  [[nodiscard]] std::string version() const;
  [[nodiscard]] DeviceState state(int device) const;
  /// As enforced now; absent where the driver does not know it.
  [[nodiscard]] std::optional<double> power_limit_W(int device) const;
  [[nodiscard]] std::optional<double> energy_J(int device) const;  ///< since the driver was loaded; Volta and newer
  /// The number of the device at a PCI address as CUDA writes it, which counts only those it may see; -1 where there is
  /// none.
  [[nodiscard]] int at_pci_address(const std::string& address) const;

 private:
  struct Functions;
  /// What usual readings average over a second, from Ampere on; absent where the driver tells averages only.
  [[nodiscard]] std::optional<double> instant_power_W(void* handle) const;
  Library library_;
  std::unique_ptr<Functions> functions_;
  std::vector<void*> devices_;
};

}  // namespace stepcast::probes
