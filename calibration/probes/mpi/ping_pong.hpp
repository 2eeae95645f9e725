#pragma once

#include <cstdint>
#include <vector>

#include "calibration/probes/common/result_file.hpp"
#include "calibration/probes/mpi/world.hpp"

namespace stepcast::probes {

/// Messages there and back between two ranks while the others sleep: rank 0 and the first rank of the next host at
/// every size, rank 0 and another rank of its host where there is one, and, with `all_hosts`, every pair of hosts in
/// both directions at the smallest size and at one of at most 1 MiB, which shows single slow or lopsided links.
void probe_ping_pong(const World& world, const Measuring& measuring, const std::vector<std::int64_t>& sizes,
                     bool all_hosts, ResultFile& file);

}  // namespace stepcast::probes
