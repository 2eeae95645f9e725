#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// What is copied to host memory before an asynchronous checkpoint drains.
struct CheckpointCopy {
  Bytes of_device;  ///< by the device that copies most
  Bytes in_memory;  ///< of the fullest node, over its devices
};

/// Savers that deal out over the replicas what these hold alike copy an even share on each device. Others copy what a
/// device holds: its shards, whatever other replicas have of them, and on one rank of a data-parallel group what none
/// shards.
CheckpointCopy checkpoint_copy(const Job& job);

}  // namespace stepcast
