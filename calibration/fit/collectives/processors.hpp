#pragma once

#include <vector>

#include "calibration/collectives/measured_collective.hpp"

namespace stepcast::fit {

/// How well the costs of messages between processors (HostNetwork) carry over to what their fit did not see: prints the
/// errors by range of sizes with each operation, each node count, and all counts above four left out, and with values
/// from other machines alone. Uses the healthy rows of the system with most rows, for the tables hold one whole cluster
/// of processors. Writes nothing: the shipped figures have sources of their own (mpi_network.cpp).
void report_processors(const std::vector<MeasuredCollective>& rows);

}  // namespace stepcast::fit
