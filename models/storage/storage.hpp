#pragma once

#include <optional>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Rate at which one node of the scenario's own kind takes in stored training data when no other does: its drives
/// together, or what one client of the shared system reads over the NICs that the node keeps for storage if it has
/// such; less where requests or, if `workload.input.decode_ms` is stated, its cores are slower; more by what the page
/// cache answers. Null when nothing is known that limits it.
std::optional<BytesPerSecond> node_read_rate(const Scenario& scenario);

/// Share of the input that a node fetches from storage, as its page cache does not hold it, and the node's rate of it:
/// its share of node_read_rate.
double fetched_share(const Scenario& scenario);
std::optional<BytesPerSecond> node_fetch_rate(const Scenario& scenario);

/// Rate of a copy of input from a node's memory to one device, which is slower from pages that are not pinned. Null
/// where the devices are the node's processors.
std::optional<BytesPerSecond> input_copy_rate(const Scenario& scenario);

/// Whether input comes from the shared system.
bool reads_shared(const Scenario& scenario);

/// Whether the shared system is reached over the NICs that carry training traffic: the node has none for storage.
bool stores_over_training_nics(const Scenario& scenario);

/// Whether input comes over those NICs.
bool reads_over_training_nics(const Scenario& scenario);

/// Bytes of stored input that one device consumes in a step; zero when nothing says how large a sample is.
Bytes input_per_device(const Scenario& scenario);

/// Bytes of prepared input that are copied to one device in a step.
Bytes copied_per_device(const Scenario& scenario);

/// Time that the input of one step takes at the pipeline's slowest stage, for the closed form; zero when nothing is
/// known that limits it.
Seconds input_time(const Scenario& scenario);

}  // namespace stepcast
