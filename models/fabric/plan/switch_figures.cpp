#include "models/fabric/plan/switch_figures.hpp"

#include <algorithm>

namespace stepcast {

namespace {

int split(BytesPerSecond port, BytesPerSecond nic) {
  if (nic <= BytesPerSecond(0)) return 1;
  // A hair more than the quotient, so that 400 / 100 is not 3.
  const double whole = port / nic * (1 + 1e-9);
  const double lanes = port >= 400_Gbps ? 8 : 4;
  return static_cast<int>(std::clamp(whole, 1.0, lanes));
}

}  // namespace

SwitchFigures SwitchFigures::of(const SwitchPart* part, BytesPerSecond nic_bandwidth) {
  if (part == nullptr) return {kPlainSwitchPorts, kSwitchLatency};
  const int ports = part->ports > 0 ? part->ports : kPlainSwitchPorts;
  const int pieces = part->port_bandwidth ? split(*part->port_bandwidth, nic_bandwidth) : 1;
  return {ports * pieces, part->latency.value_or(kSwitchLatency)};
}

}  // namespace stepcast
