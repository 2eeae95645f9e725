// The CUDA driver and NVML in host memory, for tests: made-up timings that are known, and faults on request.
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "calibration/probes/stand_in/clock.hpp"
#include "calibration/probes/stand_in/faults.hpp"

using namespace stepcast::stand_in;

namespace {

constexpr double kCopyStart_us = 2, kDeviceBytesPerUs = 1'000'000;       // 1 TB/s, read and written
constexpr double kPinnedBytesPerUs = 50'000, kPeerBytesPerUs = 100'000;  // 50 and 100 GB/s
constexpr double kLaunch_us = 2.5;
constexpr std::size_t kMemory = std::size_t{1} << 32;
thread_local int current_device = 0;

Stream* stream_of(void* handle) { return static_cast<Stream*>(handle); }
/// The interface passes addresses of devices as integers.
void* at(unsigned long long address) { return std::bit_cast<void*>(address); }
/// What stands for a device by number, as a handle.
void* handle_of(unsigned number) { return std::bit_cast<void*>(std::uintptr_t{number} + 1); }

/// A copy from pageable memory that has been staged: it arrives when the default stream is waited for, which streams of
/// a program's own are not ordered with.
struct StagedCopy {
  unsigned long long to;
  std::vector<unsigned char> bytes;
};
std::vector<StagedCopy>& staged_copies() {
  static std::vector<StagedCopy> all;
  return all;
}
void finish_staged_copies() {
  for (const StagedCopy& copy : staged_copies()) std::memcpy(at(copy.to), copy.bytes.data(), copy.bytes.size());
  staged_copies().clear();
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = setting("old_driver", 0) ? 9020 : 13000, 0; }
int cuGetErrorString(int, const char** words) { return *words = "a stand-in's error", 0; }
int cuDeviceGetCount(int* count) { return *count = setting("devices", 4), 0; }
int cuDeviceGet(int* device, int number) { return *device = number, 0; }
int cuDeviceGetName(char* name, int size, int) {
  return std::snprintf(name, static_cast<std::size_t>(size), "Stand-in"), 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = kMemory, 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = attribute == 75 ? 9 : 0, 0; }
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  return std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device), 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = handle_of(static_cast<unsigned>(device)), 0;
}
int cuCtxSetCurrent(void* context) {
  return current_device = static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1, 0;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) { return *free = *total = kMemory, 0; }
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  return *address = reinterpret_cast<unsigned long long>(std::calloc(1, bytes)), *address ? 0 : 2;
}
int cuMemFree_v2(unsigned long long address) { return std::free(at(address)), 0; }
int cuMemHostAlloc(void** bytes, std::size_t size, unsigned) { return *bytes = std::malloc(size), *bytes ? 0 : 2; }
int cuMemFreeHost(void* bytes) { return std::free(bytes), 0; }
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  return staged_copies().push_back({to, {bytes, bytes + size}}), 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t size) {
  finish_staged_copies();
  return std::memcpy(to, at(from), size), 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t size, void* stream) {
  std::memcpy(at(to), from, size);
  return advance(*stream_of(stream), kCopyStart_us + static_cast<double>(size) / kPinnedBytesPerUs), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t size, void* stream) {
  std::memcpy(to, at(from), size);
  return advance(*stream_of(stream), kCopyStart_us + static_cast<double>(size) / kPinnedBytesPerUs), 0;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t size, void* stream) {
  std::memcpy(at(to), at(from), size);
  if (setting("wrong_copy", 0)) static_cast<unsigned char*>(at(to))[size / 2] ^= 1;
  return advance(*stream_of(stream), kCopyStart_us + 2 * static_cast<double>(size) / kDeviceBytesPerUs), 0;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t size, void* stream) {
  std::memset(at(to), value, size);
  return advance(*stream_of(stream), kCopyStart_us + static_cast<double>(size) / kDeviceBytesPerUs), 0;
}
int cuDeviceCanAccessPeer(int* can, int, int) { return *can = 1, 0; }
int cuCtxEnablePeerAccess(void*, unsigned) { return 0; }
int cuMemcpyPeerAsync(unsigned long long to, void*, unsigned long long from, void*, std::size_t size, void* stream) {
  std::memcpy(at(to), at(from), size);
  return advance(*stream_of(stream), kCopyStart_us + static_cast<double>(size) / kPeerBytesPerUs), 0;
}
int cuStreamCreate(void** stream, unsigned) {
  streams().push_back(new Stream{current_device});
  return *stream = streams().back(), 0;
}
int cuStreamSynchronize(void* stream) {
  if (!stream) return finish_staged_copies(), 0;
  return host_us() = std::max(host_us(), stream_of(stream)->end_us), 0;
}
int cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
int cuEventRecord(void* event, void* stream) {
  return static_cast<Event*>(event)->at_us = start_on(*stream_of(stream)), 0;
}
int cuEventSynchronize(void* event) { return host_us() = std::max(host_us(), static_cast<Event*>(event)->at_us), 0; }
int cuEventElapsedTime(float* ms, void* begin, void* end) {
  return *ms = static_cast<float>((static_cast<Event*>(end)->at_us - static_cast<Event*>(begin)->at_us) / 1e3), 0;
}
// A graph is the length of what it has captured; the work on data is done while it is captured.
int cuStreamBeginCapture_v2(void* stream, int) { return stream_of(stream)->captured = new double(0), 0; }
int cuStreamEndCapture(void* stream, void** graph) {
  return *graph = std::exchange(stream_of(stream)->captured, nullptr), 0;
}
int cuGraphInstantiateWithFlags(void** runnable, void* graph, unsigned long long) {
  return *runnable = new double(*static_cast<double*>(graph)), 0;
}
int cuGraphLaunch(void* runnable, void* stream) {
  return advance(*stream_of(stream), *static_cast<double*>(runnable)), 0;
}
int cuGraphDestroy(void* graph) { return delete static_cast<double*>(graph), 0; }
int cuGraphExecDestroy(void* runnable) { return delete static_cast<double*>(runnable), 0; }
int cuModuleLoadData(void** module, const void*) { return *module = &current_device, 0; }
int cuModuleGetFunction(void** function, void*, const char*) { return *function = &current_device, 0; }
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* stream, void**,
                   void**) {
  return advance(*stream_of(stream), kLaunch_us), 0;
}

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int) { return "a stand-in's error"; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = static_cast<unsigned>(setting("devices", 4)), 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned number, void** device) { return *device = handle_of(number), 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** device) {
  unsigned number = 0;
  if (std::sscanf(text, "0000:%x:00.0", &number) != 1) return 2;
  return *device = handle_of(number), 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned size) { return std::snprintf(name, size, "Stand-in"), 0; }
int nvmlDeviceGetPowerUsage(void*, unsigned* mW) { return *mW = 300'000, 0; }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mW) { return *mW = 700'000, 0; }
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* mJ) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return *mJ = static_cast<unsigned long long>(std::chrono::duration<double, std::milli>(now).count() * 300), 0;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* MHz) { return *MHz = kind == 1 ? 1500 : 2600, 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* C) { return *C = 50, 0; }
int nvmlDeviceGetUtilizationRates(void*, unsigned* two) { return two[0] = 90, two[1] = 40, 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return std::snprintf(text, size, "580.0"), 0; }
int nvmlSystemGetNVMLVersion(char* text, unsigned size) { return std::snprintf(text, size, "13.580.0"), 0; }
}
