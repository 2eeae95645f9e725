#pragma once

#include <string_view>

#include "calibration/importers/wiring.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

/// The wiring in the matrix that `nvidia-smi topo -m` prints: native links (NV#) of every pair, adapters by column, the
/// nearest that any two meet (PIX, PXB, PHB, NODE, SYS), CPU and NUMA affinity. Underlining (ANSI sequences), tabs or
/// blanks, the legend, and lines of `nvidia-smi -L` around it, which name the accelerators, are all understood.
///
/// Faults, with the line: no matrix, a row of another length than the header, a relation that is none of the legend's,
/// a device without a row, a pair that differs from its mirror image. Source: nvidia-smi(1), section topo.
Wiring read_nvidia_smi_topo(std::string_view text, Diagnostics& diagnostics);

/// The wiring in what `rocm-smi --showtopo` prints: its tables of weights and of link types, and the NUMA nodes. A pair
/// whose weight is the least of all XGMI pairs has a link of its own; how many, it does not tell, and one is taken.
Wiring read_rocm_smi_topo(std::string_view text, Diagnostics& diagnostics);

/// Either of the two, told apart by rocm-smi's banner.
Wiring read_smi_topo(std::string_view text, Diagnostics& diagnostics);

/// Without ANSI escape sequences.
std::string without_escapes(std::string_view text);

}  // namespace stepcast
