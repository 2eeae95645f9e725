#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Whether a job's convolutions convert its images: channels first, and products on tensor cores.
bool converts_layouts(const Scenario& scenario);

}  // namespace stepcast
