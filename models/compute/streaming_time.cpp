#include "models/compute/streaming_time.hpp"

#include "models/compute/cached_traffic.hpp"

namespace stepcast {

Seconds streaming_time(const StreamingConstants& kernel, Bytes bytes, const Accelerator& accelerator) {
  const CachedMemory memory{accelerator.memory_bandwidth * kernel.share, accelerator.l2_cache.value_or(Bytes(0)),
                            kernel.cache_speedup};
  return kernel.launch + cached_time(bytes, bytes, memory);
}

}  // namespace stepcast
