#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/link_rates.hpp"
#include "sim/engine/path_hosts.hpp"
#include "sim/engine/work_clock.hpp"

namespace stepcast {

/// Runs flows. A flow that shares no link with another live one goes at its links' rate on the work clock; once another
/// begins on any of its links, what is left of it goes over to SimGrid, which shares links. The end of a flow on the
/// clock is told to the clock's listener, the end of one in SimGrid to the callback of PathHosts' engine; whoever hears
/// of it calls ended().
class FlowRunner {
 public:
  FlowRunner(const StepGraph& graph, const EngineOptions& options, const PathHosts& hosts, WorkClock& clock,
             LinkRateRecorder* recorder);

  /// Starts a flow of the graph. False when it takes no time: no bytes, or neither links nor a cap.
  bool start(int flow);
  /// Takes a flow that has ended off its links.
  void ended(int flow);

 private:
  struct Use {
    std::int32_t flows = 0;
    std::int32_t lone = -1;  ///< the flow on the clock that has the link to itself
  };
  const std::vector<LinkId>& links_of(int flow) const { return graph_.paths()[graph_.flows()[flow].path].links; }
  bool must_share(int flow) const;
  void start_on_clock(int flow, double bytes);
  void start_in_simgrid(int flow, double bytes);
  double take_off_clock(int flow);
  void leave_clock(int flow);

  const StepGraph& graph_;
  const EngineOptions options_;
  const PathHosts& hosts_;
  WorkClock& clock_;
  LinkRateRecorder* recorder_;
  std::vector<double> rate_alone_;  ///< by path; infinite when nothing limits it
  std::vector<Use> uses_;           ///< by link
  std::vector<WorkClock::Slot> slots_;
  std::vector<simgrid::s4u::CommPtr> comms_;  ///< a running Comm must not lose its last pointer
  simgrid::s4u::CommPtr ended_;               ///< the latest: SimGrid still reads a Comm when its end has been told
};

}  // namespace stepcast
