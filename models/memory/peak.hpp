#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// What memory_of says of the stage that needs most.
struct MemoryPeak {
  Bytes need, capacity;
  bool fits = true;  ///< on the device, and what is offloaded in the node's memory
};

/// The same without the other stages: one with the layers of the stage before it and no more micro-batches in flight
/// needs no more and is passed over.
MemoryPeak peak_memory(const Job& job);

}  // namespace stepcast
