#pragma once

#include <string>

#include "sweeps/run_sweep.hpp"

namespace stepcast {

/// `412 of 1,000 (41 %), 3 not legal, 38.2/s, 15 s left`
std::string progress_text(const SweepProgress& progress);

}  // namespace stepcast
