#pragma once

#include <vector>

#include "sim/step_graph.hpp"

namespace stepcast {

/// When one operation ran.
struct Span {
  Seconds start;       ///< first instant on its stream (its latency included)
  Seconds flow_start;  ///< when its flows began (communication); start for work
  Seconds end;         ///< of its work, or of its last flow
};

/// Rate over one link from `time` on, until the next entry of that link.
struct LinkRate {
  Seconds time;
  LinkId link = 0;
  BytesPerSecond rate;  ///< of all flows together
};

/// What ran when: one span an operation, by its id in the graph.
struct Timeline {
  std::vector<Span> spans;
  Seconds end;                       ///< of the last operation: the step
  std::vector<LinkRate> link_rates;  ///< only when asked for (trace)
};

/// The longest chain of operations in which each begins when its predecessor ends, from the end of the step backwards;
/// first to last.
std::vector<int> critical_path(const StepGraph& graph, const Timeline& timeline);

}  // namespace stepcast
