#pragma once

#include <string>
#include <string_view>

#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// The accelerator of the catalogue that a table of measurements means by "A100-SXM4-80GB", "H100", "GTX 1080 Ti" or
/// "H100 PCIe, NVLink pairs": the entry whose name has the most in common, with native links unless the text says PCIe.
/// Null when no entry is of the model that the text names.
const Accelerator* stated_accelerator(std::string_view text, const Catalog& catalog);

/// The processors of a node that a table means by "2x EPYC 7R13 (hpc6a.48xlarge)"; null and none when the catalogue has
/// no processor that the text names whole.
struct StatedProcessors {
  const Cpu* cpu = nullptr;
  int sockets = 0;
};
StatedProcessors stated_processors(std::string_view text, const Catalog& catalog);

/// What joins the devices of a node as tables word it.
struct StatedNode {
  int devices_used = 1;  ///< of each node
  int nodes = 1;
  std::string_view links;    ///< text on the node's own links; may be empty
  std::string_view remarks;  ///< may say "4 of 8 GPUs per node used"
};

/// A node with these devices: the catalogue's node of this accelerator and that many devices where there is one, else a
/// switch of the accelerator's own links, or PCIe. Texts about switches, bridge pairs, PCIe and links per pair go
/// first.
Node stated_node(const Accelerator& accelerator, const StatedNode& stated, const Catalog& catalog);

}  // namespace stepcast
