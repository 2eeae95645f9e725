#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibration/validation/stated_network.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// The `cluster` of a scenario for so many GPUs of a kind in servers of so many: the catalogue's node with these GPUs
/// (or part of one, calibration/data/catalog), joined by the stated network. Null when the catalogue has none.
Json cluster_of(std::string_view accelerator, long gpus, long gpus_per_node,
                const std::optional<StatedNetwork>& network = std::nullopt);

/// Why there is no such node: a kind of GPU that is not known, or a number that fills no servers of it.
std::string no_cluster(std::string_view accelerator, long gpus, long gpus_per_node);

/// The same where a network's text names a machine of a cloud that the catalogue has ("GCP A3 …"); null where not.
Json cluster_of_machine(const std::string& text, std::string_view accelerator, long gpus);

/// The same for slices of TPU pods, each a torus, joined by the data-centre network: at least so many of them, and more
/// where a pod has not as many chips. Null where no slice of the catalogue of runs divides the chips.
Json cluster_of_slices(std::string_view accelerator, long chips, long slices);

/// Dense peak of an accelerator's 16-bit products, TFLOP/s, from the catalogue: what utilisation is stated against.
double dense_peak_tflops(const std::string& accelerator);

}  // namespace stepcast
