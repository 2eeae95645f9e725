#pragma once

#include <optional>
#include <string>

#include "models/collectives/mpi.hpp"

namespace stepcast {

/// The library between processors that a table of measurements means by "Open MPI 4.0.5, UCX 1.7.0", "openmpi/4.1.4" or
/// "PyTorch gloo". Open MPI without a version counts as 4.1. Null for libraries whose rules are not known, what vendors
/// build on MPICH among them.
std::optional<HostLibrary> stated_host_library(const std::string& text);

}  // namespace stepcast
