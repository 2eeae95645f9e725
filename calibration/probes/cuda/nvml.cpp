#include "calibration/probes/cuda/nvml.hpp"

#include <array>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {

// Numbers of nvml.h: NVML_SUCCESS 0, NVML_CLOCK_SM 1, NVML_CLOCK_MEM 2, NVML_TEMPERATURE_GPU 0.
struct Nvml::Functions {
  struct Utilization {
    unsigned gpu, memory;
  };
  /// nvmlFieldValue_t; of a value of 32 bits the other half stays zero.
  struct FieldValue {
    unsigned id, scope;
    long long at_us, taken_us;
    int type, code;
    unsigned long long value;
  };
  int (*init)();
  int (*shutdown)();
  const char* (*error)(int);
  int (*count)(unsigned*);
  int (*handle)(unsigned, void**);
  int (*handle_at)(const char*, void**);
  int (*name)(void*, char*, unsigned);
  int (*power)(void*, unsigned*);
  int (*limit)(void*, unsigned*);
  int (*energy)(void*, unsigned long long*);
  int (*clock)(void*, int, unsigned*);
  int (*temperature)(void*, int, unsigned*);
  int (*fields)(void*, int, FieldValue*);
  int (*utilization)(void*, Utilization*);
  int (*driver)(char*, unsigned);
  int (*version)(char*, unsigned);
};

Nvml::Nvml() : library_("NVML of the NVIDIA driver", {"libnvidia-ml.so.1"}), functions_(std::make_unique<Functions>()) {
  Functions& f = *functions_;
  library_.find(f.init, "nvmlInit_v2");
  library_.find(f.shutdown, "nvmlShutdown");
  library_.find(f.error, "nvmlErrorString");
  library_.find(f.count, "nvmlDeviceGetCount_v2");
  library_.find(f.handle, "nvmlDeviceGetHandleByIndex_v2");
  library_.find(f.handle_at, "nvmlDeviceGetHandleByPciBusId_v2");
  library_.find(f.name, "nvmlDeviceGetName");
  library_.find(f.power, "nvmlDeviceGetPowerUsage");
  library_.find(f.limit, "nvmlDeviceGetEnforcedPowerLimit");
  library_.find_optional(f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  library_.find_optional(f.fields, "nvmlDeviceGetFieldValues");
  library_.find(f.clock, "nvmlDeviceGetClockInfo");
  library_.find(f.temperature, "nvmlDeviceGetTemperature");
  library_.find(f.utilization, "nvmlDeviceGetUtilizationRates");
  library_.find(f.driver, "nvmlSystemGetDriverVersion");
  library_.find(f.version, "nvmlSystemGetNVMLVersion");
  if (const int code = f.init(); code != 0)
    throw missing(std::string("NVML does not start: ") + f.error(code) + "; is the NVIDIA driver loaded?");
  unsigned count = 0;
  f.count(&count);
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    if (f.handle(i, &device) == 0) devices_.push_back(device);
  }
}

Nvml::~Nvml() { functions_->shutdown(); }

std::string Nvml::name(int device) const {
  std::array<char, 128> text{};
  functions_->name(devices_[static_cast<std::size_t>(device)], text.data(), text.size());
  return text.data();
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  functions_->driver(text.data(), text.size());
  return text.data();
}

std::string Nvml::version() const {
  std::array<char, 96> text{};
  functions_->version(text.data(), text.size());
  return text.data();
}

std::optional<double> Nvml::instant_power_W(void* handle) const {
  constexpr unsigned kPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT
  Functions::FieldValue field{};
  field.id = kPowerInstant;
  const bool known = functions_->fields && functions_->fields(handle, 1, &field) == 0 && field.code == 0;
  if (!known) return std::nullopt;
  return static_cast<double>(field.value) / 1e3;
}

DeviceState Nvml::state(int device) const {
  const Functions& f = *functions_;
  void* handle = devices_[static_cast<std::size_t>(device)];
  DeviceState out;
  unsigned value = 0;
  constexpr int kSm = 1, kMemory = 2, kGpuTemperature = 0;
  if (const auto power = instant_power_W(handle))
    out.power_W = power;
  else if (f.power(handle, &value) == 0)
    out.power_W = value / 1e3;
  if (f.clock(handle, kSm, &value) == 0) out.sm_MHz = value;
  if (f.clock(handle, kMemory, &value) == 0) out.memory_MHz = value;
  if (f.temperature(handle, kGpuTemperature, &value) == 0) out.temperature_C = value;
  if (Functions::Utilization used{}; f.utilization(handle, &used) == 0) out.utilization_pct = used.gpu;
  return out;
}

std::optional<double> Nvml::power_limit_W(int device) const {
  unsigned value = 0;
  if (functions_->limit(devices_[static_cast<std::size_t>(device)], &value) != 0) return std::nullopt;
  return value / 1e3;
}

std::optional<double> Nvml::energy_J(int device) const {
  unsigned long long value = 0;
  if (!functions_->energy || functions_->energy(devices_[static_cast<std::size_t>(device)], &value) != 0)
    return std::nullopt;
  return static_cast<double>(value) / 1e3;
}

int Nvml::at_pci_address(const std::string& address) const {
  void* device = nullptr;
  if (functions_->handle_at(address.c_str(), &device) != 0) return -1;
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i] == device) return static_cast<int>(i);
  return -1;
}

}  // namespace stepcast::probes
