#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// The NICs of a node as a table of measurements words them: "8x ConnectX-7 400G IB NDR", "2x Slingshot 11 200G",
/// "4x HDR200", "1x 200 Gb/s RoCE", "EFA 32x 100G", "400 Gb/s InfiniBand per GPU".
struct StatedNics {
  int count = 1;
  std::optional<BytesPerSecond> bandwidth;  ///< of each, per direction; null: the text states none
  NetworkKind kind = NetworkKind::infiniband;
  bool per_device = false;                ///< counted for a device ("400 Gb/s per GPU"), not for the node
  bool per_tray = false;                  ///< counted for a tray of a rack, not for the rack
  std::string_view direct_to_device_tcp;  ///< GPUDirect: "tcpx" or "tcpxo"; empty: neither
  bool known_kind = false;                ///< the text names the kind
};

/// Reads such a text. A rate comes from a figure with its unit (`stated_rate`), or from a name that stands for one
/// (EDR, HDR, NDR, Slingshot 11, ConnectX-7); a number without a unit is Gb/s where NICs have that rate ("EFA 3200"),
/// and otherwise leaves the rate unsaid; kind from names, too. Never fails: what is not said stays unset.
StatedNics read_nics(std::string_view text);

}  // namespace stepcast
