#pragma once

#include <optional>
#include <string>

#include "calibration/importers/imported.hpp"
#include "calibration/importers/wiring.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// What the user adds to a description of a machine's wiring.
struct NodeHints {
  std::string id;           ///< of the entry, which is its file's name
  std::string accelerator;  ///< catalogue id; empty: from the wiring
  std::string like;         ///< node of the catalogue for what the wiring does not tell; empty: the nearest
  std::optional<BytesPerSecond> nic_bandwidth;  ///< of each NIC whose rate is not told
};

/// The catalogue's entry of a node with this wiring. What the wiring does not tell (host memory, rates of links, of
/// NICs when they have no name, often the very accelerator) is taken from the accelerator and from the node of the
/// catalogue that is most like it; each such figure has its own source and a note. Faults: nothing fits, or the hints
/// name nothing. `file` is for messages.
Imported node_entry(const Wiring& wiring, const NodeHints& hints, const std::string& file, const Catalog& catalog);

/// An id from a file's name: what it cannot contain becomes `-`.
std::string id_of_name(const std::string& name);

}  // namespace stepcast
