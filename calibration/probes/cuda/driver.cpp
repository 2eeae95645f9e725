#include "calibration/probes/cuda/driver.hpp"

#include <array>
#include <utility>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {
namespace {

// Numbers of cuda.h.
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
constexpr unsigned kNonBlocking = 1;
constexpr int kOldestDriver = 11000;

}  // namespace

CudaDriver::CudaDriver() : library_("the NVIDIA driver", {"libcuda.so.1"}) {
  CudaFunctions& f = functions_;
  library_.find(f.init, "cuInit");
  library_.find(f.driver_version, "cuDriverGetVersion");
  library_.find(f.error_string, "cuGetErrorString");
  library_.find(f.device_count, "cuDeviceGetCount");
  library_.find(f.device_get, "cuDeviceGet");
  library_.find(f.device_name, "cuDeviceGetName");
  library_.find(f.device_memory, "cuDeviceTotalMem_v2");
  library_.find(f.device_attribute, "cuDeviceGetAttribute");
  library_.find(f.device_pci, "cuDeviceGetPCIBusId");
  library_.find(f.retain_context, "cuDevicePrimaryCtxRetain");
  library_.find(f.set_context, "cuCtxSetCurrent");
  library_.find(f.memory_info, "cuMemGetInfo_v2");
  library_.find(f.allocate, "cuMemAlloc_v2");
  library_.find(f.release, "cuMemFree_v2");
  library_.find(f.allocate_host, "cuMemHostAlloc");
  library_.find(f.release_host, "cuMemFreeHost");
  library_.find(f.to_device, "cuMemcpyHtoD_v2");
  library_.find(f.to_host, "cuMemcpyDtoH_v2");
  library_.find(f.to_device_async, "cuMemcpyHtoDAsync_v2");
  library_.find(f.to_host_async, "cuMemcpyDtoHAsync_v2");
  library_.find(f.copy_async, "cuMemcpyDtoDAsync_v2");
  library_.find(f.set_async, "cuMemsetD8Async");
  library_.find(f.peer_possible, "cuDeviceCanAccessPeer");
  library_.find(f.peer_enable, "cuCtxEnablePeerAccess");
  library_.find(f.peer_copy, "cuMemcpyPeerAsync");
  library_.find(f.stream_create, "cuStreamCreate");
  library_.find(f.stream_wait, "cuStreamSynchronize");
  library_.find(f.event_create, "cuEventCreate");
  library_.find(f.event_record, "cuEventRecord");
  library_.find(f.event_wait, "cuEventSynchronize");
  library_.find(f.event_elapsed, "cuEventElapsedTime");
  library_.find_optional(f.capture_begin, "cuStreamBeginCapture_v2");
  library_.find_optional(f.capture_end, "cuStreamEndCapture");
  library_.find_optional(f.graph_make, "cuGraphInstantiateWithFlags");
  library_.find_optional(f.graph_launch, "cuGraphLaunch");
  library_.find_optional(f.graph_end, "cuGraphDestroy");
  library_.find_optional(f.runnable_end, "cuGraphExecDestroy");
  library_.find(f.module_load, "cuModuleLoadData");
  library_.find(f.module_function, "cuModuleGetFunction");
  library_.find(f.launch, "cuLaunchKernel");
  if (const int code = f.init(0); code != 0) {
    const char* words = nullptr;
    f.error_string(code, &words);
    throw missing(std::string("the NVIDIA driver does not start: ") + (words ? words : "unknown error"));
  }
  require(f.driver_version(&version_), "asking the driver's version");
  if (version_ < kOldestDriver)
    throw missing("the NVIDIA driver is too old: it is of CUDA " + version() + "; 11.0 or newer is needed");
  require(f.device_count(&devices_), "counting devices");
  if (devices_ == 0) throw missing("the NVIDIA driver finds no device; is CUDA_VISIBLE_DEVICES set to none?");
}

void CudaDriver::require(int code, const char* what) const {
  if (code == 0) return;
  const char* words = nullptr;
  functions_.error_string(code, &words);
  throw check_failed(std::string(what) + ": CUDA error " + std::to_string(code) + ", " + (words ? words : "unknown"));
}

std::string CudaDriver::version() const {
  return std::to_string(version_ / 1000) + "." + std::to_string(version_ % 1000 / 10);
}

CudaDevice::CudaDevice(const CudaDriver& driver, int number) : driver_(driver), number_(number) {
  driver_.require(driver_.call().device_get(&device_, number), "finding a device");
  driver_.require(driver_.call().retain_context(&context_, device_), "opening a device");
  use();
  stream_ = new_stream();
}

void CudaDevice::use() const { driver_.require(driver_.call().set_context(context_), "choosing a device"); }

CudaHandle CudaDevice::new_stream() const {
  CudaHandle stream = nullptr;
  driver_.require(driver_.call().stream_create(&stream, kNonBlocking), "making a stream");
  return stream;
}

std::string CudaDevice::name() const {
  std::array<char, 128> text{};
  driver_.require(driver_.call().device_name(text.data(), text.size(), device_), "asking a device's name");
  return text.data();
}

std::string CudaDevice::pci_address() const {
  std::array<char, 32> text{};
  driver_.require(driver_.call().device_pci(text.data(), text.size(), device_), "asking a device's address");
  return text.data();
}

std::size_t CudaDevice::memory_bytes() const {
  std::size_t bytes = 0;
  driver_.require(driver_.call().device_memory(&bytes, device_), "asking a device's memory");
  return bytes;
}

std::size_t CudaDevice::free_bytes() const {
  use();
  std::size_t free = 0, total = 0;
  driver_.require(driver_.call().memory_info(&free, &total), "asking free memory");
  return free;
}

int CudaDevice::capability() const {
  int major = 0, minor = 0;
  driver_.require(driver_.call().device_attribute(&major, kCapabilityMajor, device_), "asking the compute capability");
  driver_.require(driver_.call().device_attribute(&minor, kCapabilityMinor, device_), "asking the compute capability");
  return major * 10 + minor;
}

void CudaDevice::wait() const {
  use();
  driver_.require(driver_.call().stream_wait(stream_), "waiting for a stream");
}

DeviceBuffer::DeviceBuffer(const CudaDevice& device, std::size_t bytes) : device_(&device) {
  device.use();
  device.driver().require(device.driver().call().allocate(&address_, bytes), "allocating device memory");
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ == 0) return;
  static_cast<void>(device_->driver().call().set_context(device_->context()));
  static_cast<void>(device_->driver().call().release(address_));
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(other.device_), address_(std::exchange(other.address_, 0)) {}

void DeviceBuffer::fill(const void* data, std::size_t bytes, std::size_t offset) const {
  device_->use();
  const CudaDriver& driver = device_->driver();
  driver.require(driver.call().to_device(address_ + offset, data, bytes), "copying to a device");
  // From pageable memory the call returns when the data is staged; a probe's own stream does not wait for the rest.
  driver.require(driver.call().stream_wait(nullptr), "waiting for a copy to a device");
}

void DeviceBuffer::read(void* data, std::size_t bytes, std::size_t offset) const {
  device_->use();
  device_->driver().require(device_->driver().call().to_host(data, address_ + offset, bytes), "copying from a device");
}

EventTimer::EventTimer(const CudaDevice& device) : device_(device) {
  device.use();
  device.driver().require(device.driver().call().event_create(&begin_, 0), "making an event");
  device.driver().require(device.driver().call().event_create(&end_, 0), "making an event");
}

void EventTimer::begin(CudaHandle stream) {
  device_.driver().require(device_.driver().call().event_record(begin_, stream), "recording an event");
}

void EventTimer::end(CudaHandle stream) {
  device_.driver().require(device_.driver().call().event_record(end_, stream), "recording an event");
}

double EventTimer::elapsed_us() const {
  device_.driver().require(device_.driver().call().event_wait(end_), "waiting for an event");
  float ms = 0;
  device_.driver().require(device_.driver().call().event_elapsed(&ms, begin_, end_), "reading a timer");
  return static_cast<double>(ms) * 1e3;
}

}  // namespace stepcast::probes
