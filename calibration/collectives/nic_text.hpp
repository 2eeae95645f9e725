#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// The NICs of a node as a table of measurements words them: "8x ConnectX-7 400G IB NDR", "2x Slingshot 11 200G",
/// "4x HDR200", "1x 200 Gb/s RoCE".
struct StatedNics {
  int count = 1;
  std::optional<BytesPerSecond> bandwidth;  ///< of each, per direction; null: the text states none
  NetworkKind kind = NetworkKind::infiniband;
  bool per_tray = false;                  ///< counted for a tray of a rack, not for the rack
  std::string_view direct_to_device_tcp;  ///< GPUDirect: "tcpx" or "tcpxo"; empty: neither
  bool known_kind = false;                ///< the text names the kind
};

/// Reads such a text. A rate comes from a figure in Gb/s, or from a name that stands for one (EDR, HDR, NDR,
/// Slingshot 11, ConnectX-7); kind from names, too. Never fails: what is not said stays unset.
StatedNics read_nics(std::string_view text);

}  // namespace stepcast
