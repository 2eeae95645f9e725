#pragma once

#include "models/parallelism/synchronization.hpp"

namespace stepcast {

/// The times of a SyncUnit without its collectives: all that the closed form needs.
struct UnitTimes {
  Seconds backward, forward;
  Seconds reduce_alone, gather_alone, reduce_flow, gather_flow, contended;  ///< as in SyncTraffic
};

/// Those of sync_units, in its order.
std::vector<UnitTimes> unit_times(const Job& job, int stage, SyncTrafficCache& known);

}  // namespace stepcast
