#pragma once

#include "sim/collective/group_layout.hpp"
#include "sim/collective/machine_paths.hpp"

namespace stepcast {

/// A phase of a plan as messages of all ranks of a group.
ProgramPhase messages_of(const CollectivePhase& phase, const GroupLayout& group, MachinePaths& paths);

}  // namespace stepcast
