#pragma once

#include "sim/engine/simgrid_compat.hpp"

namespace stepcast {

/// SimGrid's engine, set up for flows that share links max-min fairly by weight. One per process; never destroyed.
simgrid::s4u::Engine& make_engine();

/// Simulated seconds since the start.
inline double now() { return simgrid::s4u::Engine::get_clock(); }

}  // namespace stepcast
