#pragma once

#include "models/parallelism/synchronization.hpp"

namespace stepcast {

/// The times of a SyncUnit without its collectives: all that the closed form needs.
struct UnitTimes {
  Seconds backward, forward;
  Seconds backward_network, forward_network;  ///< of these, while the passes' own collectives flow between nodes
  Seconds reduce_alone, gather_alone, reduce_flow, gather_flow, contended;  ///< as in SyncTraffic
  int chunk = 0;                                                            ///< as in SyncUnit
  /// Where a stage takes turns at its chunks, until a micro-batch has passed the other stages and is back for this
  /// forward pass, and for this backward pass (StageUnits); 0 inside a chunk.
  Seconds before_forward, before_backward;
  Seconds messages;  ///< of that way, those that cross nodes
};

/// Those of sync_units, in its order.
std::vector<UnitTimes> unit_times(const Job& job, int stage, SyncTrafficCache& known);

}  // namespace stepcast
