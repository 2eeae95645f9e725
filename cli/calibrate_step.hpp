#pragma once

#include "cli/session.hpp"

namespace CLI {
class App;
}

namespace stepcast {

/// Adds `stepcast calibrate step`.
void add_calibrate_step(CLI::App& calibrate, Session& session);

}  // namespace stepcast
