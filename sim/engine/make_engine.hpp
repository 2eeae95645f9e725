#pragma once

#include "sim/engine/simgrid_compat.hpp"

namespace stepcast {

/// SimGrid's engine, set up for flows that share links max-min fairly by weight. One per process; never destroyed.
simgrid::s4u::Engine& make_engine();

}  // namespace stepcast
