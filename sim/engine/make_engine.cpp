#include "sim/engine/make_engine.hpp"

#include <fmt/format.h>

#include "sim/engine/work_clock.hpp"

namespace stepcast {

namespace sg4 = simgrid::s4u;

/// SimGrid reads options from the arguments that it is given, so it gets some of our own.
simgrid::s4u::Engine& make_engine() {
  static char name[] = "stepcast", quiet[] = "--log=root.thres:critical";
  static char* arguments[] = {name, quiet, nullptr};
  static int count = 2;
  // Never destroyed: shutting SimGrid down corrupts the heap, and the process ends soon.
  static auto* const engine = new sg4::Engine(&count, arguments);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config(fmt::format("{}:{}", simgrid_compat::kPrecisionKey, kInstant));
  return *engine;
}

}  // namespace stepcast
