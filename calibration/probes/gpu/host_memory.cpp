#include "calibration/probes/gpu/host_memory.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace stepcast::probes {
namespace {

// Of linux/mempolicy.h; the calls have no wrapper in libc.
constexpr int kDefault = 0, kPreferred = 1;
constexpr unsigned long kNode = 1, kAddress = 2;
constexpr int kMostNodes = sizeof(unsigned long) * CHAR_BIT;

/// Prefers a node's memory for what the calling thread writes first, until it goes. A kernel that refuses keeps its
/// way.
class PreferredNode {
 public:
  explicit PreferredNode(int node) {
    const unsigned long mask = node < kMostNodes ? 1UL << node : 0;
    static_cast<void>(syscall(SYS_set_mempolicy, kPreferred, &mask, kMostNodes));
  }
  ~PreferredNode() { static_cast<void>(syscall(SYS_set_mempolicy, kDefault, nullptr, 0)); }
  PreferredNode(const PreferredNode&) = delete;
  PreferredNode& operator=(const PreferredNode&) = delete;
};

}  // namespace

std::vector<int> numa_nodes(const std::string& root) {
  std::vector<int> out;
  for (int node = 0; node < kMostNodes; ++node) {
    std::ifstream file(std::filesystem::path(root) / ("node" + std::to_string(node)) / "meminfo");
    // "Node 0 MemTotal:  24681752 kB"
    std::string word;
    long long total = 0;
    if (file >> word >> word >> word >> total && total > 0) out.push_back(node);
  }
  if (out.empty()) out.push_back(0);
  return out;
}

HostBuffer::HostBuffer(const CudaDriver& driver, std::size_t bytes, bool pinned, int numa_node) : driver_(driver) {
  const PreferredNode node(numa_node);
  if (pinned)
    driver.require(driver.call().allocate_host(&pinned_, bytes, 0), "allocating page-locked memory");
  else
    pageable_.resize(bytes);
  std::memset(data(), 0, bytes);
}

HostBuffer::~HostBuffer() {
  if (pinned_) static_cast<void>(driver_.call().release_host(pinned_));
}

std::string HostBuffer::part() {
  int node = -1;
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0, data(), kNode | kAddress) != 0 || node < 0) return "host";
  return "numa" + std::to_string(node);
}

}  // namespace stepcast::probes
