#pragma once

#include <optional>
#include <string>

namespace stepcast {

/// A rate of a network's text in Gb/s, and what stands around it.
struct StatedRate {
  double gbps = 0;
  std::string before, after;
};

/// Reads the first rate that has a unit. A small b is bits and a capital one bytes: "400 Gb/s", "400G", "25 GbE" and
/// "3.2 Tbps" go before "25 GB/s" and "25 GiB/s", which are no rate of NICs where the text names links between the
/// devices of a node. Null where no such rate stands, "200 GBPS", which may be either, among them.
std::optional<StatedRate> stated_rate(const std::string& text);

/// Whether a text names links between the devices of a node, whose rates tables state in bytes: "NVLink 900 GB/s".
bool names_device_links(const std::string& text);

}  // namespace stepcast
