#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

/// NUMA nodes of this host that have memory, by their numbers; one, 0, where nothing tells.
std::vector<int> numa_nodes(const std::string& root = "/sys/devices/system/node");

/// Host memory, page-locked or not, on a NUMA node where that can be had; written once, so that it is there.
class HostBuffer {
 public:
  HostBuffer(const CudaDriver& driver, std::size_t bytes, bool pinned, int numa_node);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  unsigned char* data() { return pinned_ ? static_cast<unsigned char*>(pinned_) : pageable_.data(); }
  /// Where its first page lies, as "numa1"; "host" where the kernel does not say.
  [[nodiscard]] std::string part();

 private:
  const CudaDriver& driver_;
  std::vector<unsigned char> pageable_;
  void* pinned_ = nullptr;
};

}  // namespace stepcast::probes
