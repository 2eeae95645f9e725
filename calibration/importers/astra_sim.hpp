#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/importers/imported.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// What an import of ASTRA-sim is asked for.
struct AstraImport {
  std::vector<std::filesystem::path> files;  ///< network, system, memory, text workload, …, in any order
  std::string id;                            ///< of the node that is made
  std::string accelerator;                   ///< what an NPU is; empty: that of the system file's memory bandwidth
};

/// A scenario on ASTRA-sim's network, the node that it stands on, and, of a text workload, the step graph.
///
/// The network's first dimension becomes the inside of a node and the others the fabric between nodes; a network of
/// rings alone becomes a torus of nodes with one NPU, a physical topology for ns-3 a fabric cable by cable. What the
/// mapping loses is in the notes (docs/formats/imports.md). Throws InputError with every fault of the files; Chakra
/// traces are referred to `stepcast import chakra`.
Imported import_astra_sim(const AstraImport& request, const Catalog& catalog);

}  // namespace stepcast
