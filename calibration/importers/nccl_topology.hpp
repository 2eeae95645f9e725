#pragma once

#include <string_view>

#include "calibration/importers/wiring.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

/// The wiring in an XML topology of NCCL or RCCL: what `NCCL_TOPO_DUMP_FILE` writes (accelerators with their ranks and
/// native links, adapters with their rates) or what `NCCL_TOPO_FILE` takes (PCI functions only, to be completed on the
/// machine). Elements that it does not need are named in the notes.
///
/// Faults, with line and column: no XML, a document type (no topology has one), another root than `system`, numbers and
/// PCI addresses that are none, an address or attribute given twice, links that one end counts differently from the
/// other, more than 64 levels or 20,000 elements. Source of the format: NCCL 2.2x, src/graph/xml.cc and topo.cc.
Wiring read_nccl_topology(std::string_view xml, Diagnostics& diagnostics);

}  // namespace stepcast
