#pragma once

#include "sim/collective/group_layout.hpp"
#include "sim/collective/machine_paths.hpp"

namespace stepcast {

/// Peers that a rank sends to at the same time in an exchange of all pairs: NCCL's kernels serve eight to a channel
/// (https://github.com/NVIDIA/nccl/issues/665), inside the node and between nodes apart.
inline constexpr int kPeersInFlight = 8;

/// A phase of a plan as messages of all ranks of a group.
ProgramPhase messages_of(const CollectivePhase& phase, const GroupLayout& group, MachinePaths& paths);

}  // namespace stepcast
