#pragma once

#include <string_view>

#include "calibration/importers/wiring.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

/// The wiring in the matrix that `nvidia-smi topo -m` prints: native links (NV#) of every pair, adapters by column, the
/// nearest that any two meet (PIX, PSB, PXB, PHB, NODE, SYS), CPU and NUMA affinity. Underlining (ANSI sequences), tabs
/// or blanks, the legend, what a launcher prints before each line, and lines of `nvidia-smi -L` around it, which name
/// the accelerators, are all understood. Of several matrices the first counts.
///
/// Faults, with the line: no matrix, a row of another length than the header, a relation that is none of the legend's,
/// a device without a row, a pair that differs from its mirror image. Source: nvidia-smi(1), section topo.
Wiring read_nvidia_smi_topo(std::string_view text, Diagnostics& diagnostics);

/// The wiring in what `rocm-smi --showtopo` or `amd-smi topology` prints: the tables of weights and of link types, and
/// of rocm-smi the NUMA nodes and the model (`--showproductname`). A pair whose weight is the least of all XGMI pairs
/// has a link of its own; how many, it does not tell, and one is taken.
Wiring read_rocm_smi_topo(std::string_view text, Diagnostics& diagnostics);

/// The same text without escape sequences, and without what stands before `GPU0` in the header of a matrix on each
/// line.
std::string without_log_prefixes(std::string_view text);

/// Either of the two, told apart by the titles of AMD's tables.
Wiring read_smi_topo(std::string_view text, Diagnostics& diagnostics);

}  // namespace stepcast
