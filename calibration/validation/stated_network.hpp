#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

/// A network as a table of runs states it.
struct StatedNetwork {
  int nics_per_node = 0;
  double nic_bandwidth_Gbps = 0;
  std::string_view kind;  ///< name of NetworkKind
};

/// Reads a network's text: "4 x 100 Gb/s RoCE per node", "800 Gb/s per node", "400 Gb/s RDMA per GPU", "8 HDR
/// InfiniBand per node", "8x ConnectX-7 400Gbps", "400 Gb/s x 8", "4 x 25 GB/s Slingshot". A rate without a count is
/// one NIC's. Null where it names a product whose NICs the catalogue has, gives no single rate, or says nothing.
std::optional<StatedNetwork> network_of(const std::string& text, long gpus_per_node);

}  // namespace stepcast
