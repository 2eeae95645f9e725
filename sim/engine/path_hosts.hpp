#pragma once

#include <vector>

#include "sim/engine/simgrid_compat.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// SimGrid counts whole bytes; ours come in 1024ths, so that what is left of a flow need not be rounded to a byte.
inline constexpr double kUnitsPerByte = 1024;

/// The links of a step graph as SimGrid's, and its paths as hosts of one star zone: all that a path's host sends
/// crosses the path's links.
///
/// Each route begins with a link of the path's own. It makes SimGrid share links by weight (CM02 shares in proportion
/// to 1 / latency of the route), limits single flows to the path's cap, and keeps the default solver right when flows
/// begin at the same instant: SimGrid re-solves from the first link of a new flow's route, and stops there if that link
/// is marked as changed already.
class PathHosts {
 public:
  /// Makes the paths that flows of different operations may contend on, or all (`every_path`); nothing can be added
  /// later.
  PathHosts(simgrid::s4u::Engine& engine, const StepGraph& graph, bool every_path);

  /// Starts `units` (1024ths of bytes) over a path; `id` comes back by flow_id(). The caller keeps the pointer until
  /// the flow has ended. Throws std::logic_error when the path was not made.
  [[nodiscard]] simgrid::s4u::CommPtr start(PathId path, double units, int id) const;
  static int flow_id(const simgrid::s4u::Activity& activity);

  /// Bytes per second over a link at the time of the latest solution; 0 for links that SimGrid does not know.
  [[nodiscard]] double usage(LinkId link) const;

 private:
  std::vector<simgrid::s4u::Link*> links_;  ///< null where no flow can contend
  std::vector<simgrid::s4u::Host*> hosts_;  ///< by path; null likewise
  simgrid::s4u::Host* sink_ = nullptr;
};

}  // namespace stepcast
