#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/wiring.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// Accelerators of the catalogue that the wiring allows: those of its PCI ids or model if it tells them, else those of
/// its compute capability, else all that have enough native links. Sorted by id.
std::vector<const Accelerator*> accelerators_allowed(const Wiring& wiring, const Catalog& catalog);

/// The catalogue's node that a machine's wiring fits best: as many accelerators, of one of these ids, meeting one
/// another the same way, the same NICs for training; among equals, the accelerator that more of the catalogue's nodes
/// have, then as many NICs in all. Null when no node has as many accelerators of these ids.
const Node* node_like(const Wiring& wiring, const std::vector<const Accelerator*>& accelerators,
                      const Catalog& catalog);

/// The catalogue's node with this accelerator, and however many of them, that is most like the wiring among those that
/// `has` accepts: for what all nodes with it have alike, as the rate of its links. Null when there is none.
const Node* node_with(const Accelerator& accelerator, const Wiring& wiring, const std::function<bool(const Node&)>& has,
                      const Catalog& catalog);

/// The node that a product's name means: the id, or its end after a `-` (`p4d.24xlarge` → `aws-p4d.24xlarge`). Null
/// when there is none.
const Node* node_of_platform(std::string_view platform, const Catalog& catalog);

/// Whether a processor of the catalogue (its id) is of a vendor, as CPUID names it (`GenuineIntel`); `ARM`: of any
/// vendor of such.
bool cpu_is_of(std::string_view cpu, std::string_view vendor, const Catalog& catalog);

/// Host memory of the catalogue's nodes over that of their accelerators, and its bandwidth per accelerator: medians,
/// for machines that no node is like.
struct TypicalHost {
  double memory_over_accelerators = 0;
  BytesPerSecond bandwidth_per_accelerator;
};
TypicalHost typical_host(const Catalog& catalog);

}  // namespace stepcast
