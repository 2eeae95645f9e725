#include "models/fabric/network_switch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/fabric/preset_kinds.hpp"

namespace stepcast {

namespace {

/// The slowest switch that is usual for a kind of network and whose ports have the NICs' rate, or the fastest where
/// none has; null where none is usual. Throws InputError when an entry is faulty.
const SwitchPart* usual_switch(NetworkKind kind, BytesPerSecond rate, const Catalog& catalog) {
  const SwitchPart* best = nullptr;
  // Rates come from decimal figures in files: a hair above one is that one.
  const auto carries = [rate](const SwitchPart& part) { return rate <= *part.port_bandwidth * (1 + 1e-9); };
  for (const std::string& id : catalog.ids("switches")) {
    const auto* part = catalog.find<SwitchPart>(id);
    if (std::find(part->usual_for.begin(), part->usual_for.end(), kind) == part->usual_for.end()) continue;
    const bool slower = best != nullptr && *part->port_bandwidth < *best->port_bandwidth;
    const bool faster = best != nullptr && *part->port_bandwidth > *best->port_bandwidth;
    if (best == nullptr || (carries(*part) && slower) || (!carries(*best) && faster)) best = part;
  }
  return best;
}

}  // namespace

const SwitchPart* network_switch(const FabricSpec& spec, NetworkKind kind, BytesPerSecond nic_bandwidth,
                                 const Catalog& catalog, const std::string& pointer, Diagnostics& diagnostics) {
  if (is_torus(spec.preset)) return nullptr;
  try {
    if (!spec.switch_id.empty()) return catalog.find<SwitchPart>(spec.switch_id, pointer + "/switch", diagnostics);
    if (const SwitchPart* usual = usual_switch(kind, nic_bandwidth, catalog)) return usual;
    diagnostics.error(pointer, fmt::format("no switch of the catalogue is usual for {}", name_of(kind)),
                      "name one: fabric.switch (stepcast catalog list switches)");
  } catch (const InputError& error) {
    diagnostics.add(error.faults());
  }
  return nullptr;
}

}  // namespace stepcast
