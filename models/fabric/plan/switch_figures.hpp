#pragma once

#include "hardware-catalog/parts.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What a plan needs to know of a switch: how many ports of the NICs' rate it has, and how long it takes.
struct SwitchFigures {
  int ports = 0;
  Seconds latency;  ///< port to port

  /// A fast port splits into slower ones by its lanes: up to 4, from 400 Gb/s up to 8 (QSFP and OSFP break-out cables).
  /// A port slower than the NIC counts as one; check_fabric refuses it.
  static SwitchFigures of(const SwitchPart* part, BytesPerSecond nic_bandwidth);
};

/// Cable of 10 m at 4.9 ns/m, between racks of a row (links cable-fibre-propagation; the length is an assumption).
inline constexpr Seconds kCableLatency{49e-9};
/// The same at 4.6 ns/m and 2 m, within a rack (links cable-copper-propagation).
inline constexpr Seconds kShortCableLatency{9.2e-9};
/// One end of an InfiniBand HDR adapter, half of its 0.6 µs (links ib-adapter-latency).
inline constexpr Seconds kNicLatency{0.3e-6};
/// Port to port where the catalogue does not say: the median of its Ethernet switches that do.
inline constexpr Seconds kSwitchLatency{450e-9};
/// Ports of a switch that nothing is known of: what most of the catalogue's have.
inline constexpr int kPlainSwitchPorts = 64;

}  // namespace stepcast
