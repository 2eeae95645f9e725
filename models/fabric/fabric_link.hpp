#pragma once

#include <cstdint>

#include "fields/field_table.hpp"
#include "units/quantity.hpp"

namespace stepcast {

enum class VertexKind : std::uint8_t { device, native_switch, pcie_switch, socket, nic, network_switch };
template <>
struct EnumNames<VertexKind> {
  static constexpr std::array names{"device", "native_switch", "pcie_switch", "socket", "nic", "network_switch"};
};

/// A place that traffic passes. `index` counts within the node, or within a level of the network.
struct FabricVertex {
  VertexKind kind = VertexKind::device;
  int node = -1;  ///< −1: a switch of the network
  int index = 0;
  int level = 0;   ///< of a network switch: 0 leaf, 1 spine, 2 core, 3 a site's connection, 4 the wide-area network
  int plane = -1;  ///< leaves and spines of a Clos network: those of one plane reach one another without cores
};

enum class FabricLinkKind : std::uint8_t { native, pcie, socket, nic, trunk, wan };
template <>
struct EnumNames<FabricLinkKind> {
  static constexpr std::array names{"native", "pcie", "socket", "nic", "trunk", "wan"};
};

/// One direction between two vertices; `cables` in parallel count as one link of their joint rate.
struct FabricLink {
  FabricLinkKind kind = FabricLinkKind::native;
  BytesPerSecond bandwidth;  ///< of all cables, per direction, raw rate
  Seconds latency;
  int cables = 1;
  int id = 0;  ///< dense: 0 … links − 1
};

}  // namespace stepcast
