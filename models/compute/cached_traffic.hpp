#pragma once

#include "units/quantity.hpp"

namespace stepcast {

/// A memory behind a cache.
struct CachedMemory {
  BytesPerSecond memory;     ///< behind the cache
  Bytes cache;               ///< 0: keeps nothing
  double cache_speedup = 1;  ///< its rate over the memory's
};

/// Time to move `bytes` of which the cache keeps the share 1/(1 + (footprint / cache)²): all of a small footprint, none
/// of a large one. The form is OPERATORS' own first fit of the L2 of L40S and RTX PRO 6000 (docs/models/operators.md).
Seconds cached_time(Bytes bytes, Bytes footprint, const CachedMemory& memory);

}  // namespace stepcast
