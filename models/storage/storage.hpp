#pragma once

#include <optional>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Rate at which one node reads training data: its drives together (RAID 0 and JBOD read from all), or its share of the
/// shared system's client and aggregate limits. Null when the catalogue does not know.
std::optional<BytesPerSecond> node_read_rate(const Scenario& scenario);

/// Bytes of stored input that one device consumes in a step; zero when the model does not state its sample size.
Bytes input_per_device(const Scenario& scenario);

}  // namespace stepcast
