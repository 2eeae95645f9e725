#pragma once

#include <optional>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Rate at which one node reads training data when no other does: its drives together (RAID 0 and JBOD read from all),
/// or what one client of the shared system reads, over the NICs that the node keeps for storage if it has such. Null
/// when the catalogue does not know.
std::optional<BytesPerSecond> node_read_rate(const Scenario& scenario);

/// Whether input comes over the NICs that carry training traffic: storage is shared and the node has no NICs for it.
bool reads_over_training_nics(const Scenario& scenario);

/// Bytes of stored input that one device consumes in a step; zero when the model does not state its sample size.
Bytes input_per_device(const Scenario& scenario);

}  // namespace stepcast
