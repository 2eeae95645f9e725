#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibration/probes/common/library.hpp"

namespace stepcast::probes {

/// A stream or an event of the CUDA driver.
using CudaHandle = void*;
/// An address in device memory.
using DevicePointer = unsigned long long;

/// The functions of the CUDA driver that the probes call, with own prototypes: no toolkit is needed to build them.
/// Source: cuda.h of CUDA 13.0; the names with `_v2` are what its macros stand for since CUDA 3.2 and 4.0.
struct CudaFunctions {
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*error_string)(int, const char**);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_memory)(std::size_t*, int);
  int (*device_attribute)(int*, int, int);
  int (*device_pci)(char*, int, int);
  int (*retain_context)(void**, int);
  int (*set_context)(void*);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*allocate)(DevicePointer*, std::size_t);
  int (*release)(DevicePointer);
  int (*allocate_host)(void**, std::size_t, unsigned);
  int (*release_host)(void*);
  int (*to_device)(DevicePointer, const void*, std::size_t);
  int (*to_host)(void*, DevicePointer, std::size_t);
  int (*to_device_async)(DevicePointer, const void*, std::size_t, CudaHandle);
  int (*to_host_async)(void*, DevicePointer, std::size_t, CudaHandle);
  int (*copy_async)(DevicePointer, DevicePointer, std::size_t, CudaHandle);
  int (*set_async)(DevicePointer, unsigned char, std::size_t, CudaHandle);
  int (*peer_possible)(int*, int, int);
  int (*peer_enable)(void*, unsigned);
  int (*peer_copy)(DevicePointer, void*, DevicePointer, void*, std::size_t, CudaHandle);
  int (*stream_create)(CudaHandle*, unsigned);
  int (*stream_wait)(CudaHandle);
  int (*event_create)(CudaHandle*, unsigned);
  int (*event_record)(CudaHandle, CudaHandle);
  int (*event_wait)(CudaHandle);
  int (*event_elapsed)(float*, CudaHandle, CudaHandle);
  // Graphs of captured calls; null before CUDA 11.4.
  int (*capture_begin)(CudaHandle, int);
  int (*capture_end)(CudaHandle, void**);
  int (*graph_make)(void**, void*, unsigned long long);
  int (*graph_launch)(void*, CudaHandle);
  int (*graph_end)(void*);
  int (*runnable_end)(void*);
  int (*module_load)(void**, const void*);
  int (*module_function)(void**, void*, const char*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle, void**,
                void**);
};

/// The CUDA driver of this host. Every call that fails throws Fault (check failed) with the driver's own words.
class CudaDriver {
 public:
  /// Throws Fault (missing) without a driver or a device, or when the driver is older than CUDA 11.0, the first whose
  /// cuBLASLt and NCCL the probes know.
  CudaDriver();

  [[nodiscard]] const CudaFunctions& call() const { return functions_; }
  /// Throws when a call's code is not CUDA_SUCCESS; `what` says what was tried.
  void require(int code, const char* what) const;
  [[nodiscard]] int devices() const { return devices_; }
  /// As "13.0".
  [[nodiscard]] std::string version() const;

 private:
  Library library_;
  CudaFunctions functions_{};
  int devices_ = 0, version_ = 0;
};

/// A device with its primary context, which NCCL and cuBLASLt use too, and one stream.
class CudaDevice {
 public:
  CudaDevice(const CudaDriver& driver, int number);
  /// Makes it the calling thread's device.
  void use() const;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] void* context() const { return context_; }
  [[nodiscard]] CudaHandle stream() const { return stream_; }
  /// A further stream, which lives as long as the context.
  [[nodiscard]] CudaHandle new_stream() const;
  [[nodiscard]] std::string name() const;
  /// As the driver writes it, 0000:07:00.0.
  [[nodiscard]] std::string pci_address() const;
  /// All that the driver counts as the device's.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// What nobody holds of it now.
  [[nodiscard]] std::size_t free_bytes() const;
  /// Compute capability, as 90 for 9.0.
  [[nodiscard]] int capability() const;
  /// Until everything on its own stream is done.
  void wait() const;
  [[nodiscard]] const CudaDriver& driver() const { return driver_; }

 private:
  const CudaDriver& driver_;
  int number_, device_ = 0;
  void* context_ = nullptr;
  CudaHandle stream_ = nullptr;
};

/// Memory of a device, released with it.
class DeviceBuffer {
 public:
  DeviceBuffer(const CudaDevice& device, std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  [[nodiscard]] DevicePointer address() const { return address_; }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are integers, other libraries take pointers
  [[nodiscard]] void* pointer() const { return reinterpret_cast<void*>(address_); }
  /// Copies `bytes` from the host to `offset` in the buffer, and waits for it.
  void fill(const void* data, std::size_t bytes, std::size_t offset = 0) const;
  /// Copies `bytes` at `offset` of the buffer to the host, and waits for it.
  void read(void* data, std::size_t bytes, std::size_t offset = 0) const;

 private:
  const CudaDevice* device_;
  DevicePointer address_ = 0;
};

/// Two events around work on a stream.
class EventTimer {
 public:
  explicit EventTimer(const CudaDevice& device);
  /// Records the first event.
  void begin(CudaHandle stream);
  /// Records the second one.
  void end(CudaHandle stream);
  /// Waits for the end; µs between the two.
  [[nodiscard]] double elapsed_us() const;

 private:
  const CudaDevice& device_;
  CudaHandle begin_ = nullptr, end_ = nullptr;
};

}  // namespace stepcast::probes
