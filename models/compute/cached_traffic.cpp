#include "models/compute/cached_traffic.hpp"

namespace stepcast {

Seconds cached_time(Bytes bytes, Bytes footprint, const CachedMemory& memory) {
  if (memory.cache <= Bytes(0)) return bytes / memory.memory;
  const double fill = footprint / memory.cache;
  const double kept = 1 / (1 + fill * fill);
  return bytes * (1 - kept + kept / memory.cache_speedup) / memory.memory;
}

}  // namespace stepcast
